/** Runs a `javascript` node in the sandbox. */
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import { type Runner, failed, runner } from '../runner.ts';
import { type Sandbox, withinSlice, scriptFailure, scriptWith } from '../sandbox/script.ts';
import { shownScriptInput, withDetail } from '../shown-input.ts';
import { javascript } from './shape.ts';

export const runJavascript = (sandbox: Sandbox, memoryBytes: number): Runner =>
  runner(javascript, async ({ code }, input, { signal, timeoutMs, timeSlice, secrets }) => {
    const scripts = withinSlice(sandbox, timeSlice);
    const end = await scripts.run(scriptWith(code, input, { timeoutMs, memoryBytes }), signal);
    if (end.kind === 'stopped') {
      const result = { ...failed(scriptFailure(end), { printed: end.printed }), ...scripts.usage() };
      return withDetail(result, 'input', () => shownScriptInput(code, input, secrets.mask));
    }
    const output: JsonValue = JSON.parse(end.output);
    return {
      outcome: { kind: 'finished', output: inline(output), handle: mainHandle },
      printed: end.printed,
      ...scripts.usage(),
    };
  });
