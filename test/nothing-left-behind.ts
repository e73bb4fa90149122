/** Files that share a process find it as it was: what one of them changes there and leaves changed would be the next one's riddle. */
import { afterAll, beforeAll, expect } from 'vitest';

/** Set by the logger for the SDK when it is first imported, and always the same. */
const ofLibraries = ['AWS_SDK_UA_APP_ID'];
const signals = ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT'];

/** By what it is called, which is all that a report may show: a variable may be a secret. */
const standing = (): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ['the working folder', process.cwd()],
    ['the exit code', process.exitCode],
    ...signals.map((name) => [`listeners of ${name}`, process.listenerCount(name)] as const),
    ...Object.entries(process.env).flatMap(([name, value]) =>
      ofLibraries.includes(name) ? [] : [[`the variable ${name}`, value] as const],
    ),
    ...Object.getOwnPropertyNames(globalThis).map((name) => [`the global ${name}`, true] as const),
  ]);

let before: ReadonlyMap<string, unknown>;
beforeAll(() => void (before = standing()));
afterAll(() => {
  const after = standing();
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const changed = names.filter((name) => before.get(name) !== after.get(name));
  expect(changed, 'what this file leaves changed').toEqual([]);
});
