/** Runs a `javascript` node in the sandbox. */
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import { type Runner, failed, runner } from '../runner.ts';
import { type Sandbox, withinSlice, scriptFailure, scriptWith } from '../sandbox/script.ts';
import { javascript } from './shape.ts';

export const runJavascript = (sandbox: Sandbox, memoryBytes: number): Runner =>
  runner(javascript, async ({ code }, input, { signal, timeoutMs, firstSlice }) => {
    const end = await withinSlice(sandbox, firstSlice).run(scriptWith(code, input, { timeoutMs, memoryBytes }), signal);
    if (end.kind === 'stopped') return failed(scriptFailure(end), { printed: end.printed });
    const output: JsonValue = JSON.parse(end.output);
    return { outcome: { kind: 'finished', output: inline(output), handle: mainHandle }, printed: end.printed };
  });
