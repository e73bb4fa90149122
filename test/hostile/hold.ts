/** Holds a table of hostile workflows: for each its end, its cause, and the time within which it has to come. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { printedLimits } from '../../lib/engine/log/event-limits.ts';
import type { Drawn, Played, Stage } from './play.ts';

export interface Expected {
  /** the run's end, or `publish` or `start` where the API is to refuse it there */
  readonly ends: 'completed' | 'failed' | 'publish' | 'start';
  /** of the run's failure, or of the refusal */
  readonly code?: string;
  readonly cause?: string;
  /** codes of findings or faults that the refusal names */
  readonly findings?: readonly string[];
  readonly output?: JsonValue;
  /** a part of the message */
  readonly says?: string;
}

export interface Entry extends Drawn {
  readonly name: string;
  readonly expected: Expected;
  /** generous: four times what it takes on a busy machine of two cores */
  readonly withinMs: number;
}

/** Far above what any of them takes; none may reach the minutes in which a hang would show. */
const soon = 6_000;

/** For scripts that reach another limit than that of time, with room for a busy machine. */
export const patient = { config: { timeoutMs: 20_000 }, withinMs: 25_000 } as const;

/** A workflow of one script, and its expected end. Its run's output is the script's. */
export const script = (
  name: string,
  code: string,
  expected: Expected,
  more: { readonly input?: JsonObject; readonly config?: JsonObject; readonly withinMs?: number } = {},
): Entry => ({
  name,
  workflow: scripted(code, more.config),
  ...(more.input === undefined ? {} : { input: more.input }),
  expected,
  withinMs: more.withinMs ?? soon,
});

const scripted = (code: string, config: JsonObject = {}): JsonObject => ({
  name: 'hostile',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 's', type: 'javascript', config: { code, retry: { attempts: 1 }, timeoutMs: 1_000, ...config } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.jsResult}}' }] } },
  ],
  edges: [
    { source: 'start', target: 's' },
    { source: 's', target: 'end' },
  ],
});

/** Nodes in a chain behind a start. */
export const chain = (...nodes: readonly JsonObject[]): JsonObject => ({
  name: 'hostile',
  nodes: [{ id: 'start', type: 'start' }, ...nodes],
  edges: nodes.map((node, at) => ({ source: nodes[at - 1]?.['id'] ?? 'start', target: node['id'] ?? '' })),
});

/** Nodes beside each other behind a start. */
export const beside = (nodes: readonly JsonObject[]): JsonObject => ({
  name: 'hostile',
  nodes: [{ id: 'start', type: 'start' }, ...nodes],
  edges: nodes.map((node) => ({ source: 'start', target: node['id'] ?? '' })),
});

export const drawn = (name: string, workflow: JsonObject, expected: Expected, more: Partial<Entry> = {}): Entry => ({
  name,
  workflow,
  expected,
  withinMs: soon,
  ...more,
});

export const failedBy = (code: string, cause: string, says?: string): Expected => ({
  ends: 'failed',
  code,
  cause,
  ...(says === undefined ? {} : { says }),
});
export const gives = (got: JsonValue): Expected => ({ ends: 'completed', output: { got } });
export const completes: Expected = { ends: 'completed' };
export const refusedWith = (...findings: readonly string[]): Expected => ({
  ends: 'publish',
  code: 'definition_invalid',
  findings,
});

export function hold(what: string, stage: Stage, entries: readonly Entry[]): void {
  describe(what, () => {
    it.each(entries.map((entry) => [entry.name, entry] as const))('%s', async (_name, entry) => {
      const played = await stage.play(entry);
      expect(shownOf(played)).toMatchObject(expectedOf(entry.expected));
      holdBounds(played);
      expect(played.tookMs).toBeLessThan(entry.withinMs);
    });
  });
}

const shownOf = ({ at, status, code, cause, message, output, body }: Played) => ({
  ends: at === 'ended' ? status : at,
  code,
  cause,
  message,
  output,
  found: codesIn(body),
});

const expectedOf = ({ ends, code, cause, findings, output, says }: Expected): object => ({
  ends,
  ...(code === undefined ? {} : { code }),
  ...(cause === undefined ? {} : { cause }),
  ...(output === undefined ? {} : { output }),
  ...(says === undefined ? {} : { message: expect.stringContaining(says) }),
  ...(findings === undefined ? {} : { found: expect.arrayContaining([...findings]) }),
});

const codesIn = (body: JsonObject): readonly string[] =>
  [...JSON.stringify(body).matchAll(/"code":"([a-z_]+)"/g)].map(([, code = '']) => code);

/** What holds for every run, whatever it does. */
function holdBounds({ events, at, code, cause }: Played): void {
  // A refusal is one of the caller's faults, and a failure has a cause that is not ours.
  expect([code, cause]).not.toContain('internal');
  if (at !== 'ended') return;
  for (const event of events) {
    if (!('printed' in event) || event.printed === undefined) continue;
    expect(event.printed.length).toBeLessThanOrEqual(printedLimits.lines);
    expect(Buffer.byteLength(event.printed.join(''))).toBeLessThanOrEqual(printedLimits.bytes);
  }
}
