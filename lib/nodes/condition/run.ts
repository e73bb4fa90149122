/**
 * Runs a condition with script expressions: each expression runs once, then the branches are evaluated. An expression that throws is
 * false, and its error is printed. An expression that exceeds a limit fails the node, because the chosen branch would depend on timing.
 */
import { collectPrintedLines } from '../../engine/log/event-limits.ts';
import { type DurationMs, durationMs, seconds } from '../../engine/time.ts';
import { type Runner, failed, runner } from '../runner.ts';
import { type Sandbox, type ScriptEnd, withinSlice, scriptFailure, scriptWith } from '../sandbox/script.ts';
import { shownScriptInput, withDetail } from '../shown-input.ts';
import { chooseBranch, condition, expressionsOf } from './shape.ts';

/** An expression should only decide, so its limit is short. */
export const expressionLimitMs = seconds(5);

export const runCondition = (sandbox: Sandbox, memoryBytes: number): Runner =>
  runner(condition, async (config, input, { signal, timeoutMs, timeSlice, secrets }) => {
    const scripts = withinSlice(sandbox, timeSlice);
    const results = new Map<string, boolean>();
    const printed = collectPrintedLines();
    const start = process.hrtime.bigint();
    for (const expression of new Set(expressionsOf(config))) {
      const limits = { timeoutMs: remaining(timeoutMs, start), memoryBytes };
      const end = await scripts.run(scriptWith(`return !!(${expression}\n)`, input, limits), signal);
      for (const line of end.printed) printed.add(line);
      if (end.kind === 'stopped' && !isScriptError(end)) {
        const result = { ...failed(scriptFailure(end), { printed: printed.lines() }), ...scripts.usage() };
        return withDetail(result, 'input', () => shownScriptInput(expression, input, secrets.mask));
      }
      if (end.kind === 'stopped') printed.add(`${excerpt(expression)}: ${end.message}`);
      results.set(expression, end.kind === 'returned' && end.output === 'true');
    }
    const outcome = chooseBranch(config, input, (expression) => results.get(expression) === true);
    return { outcome, printed: printed.lines(), ...scripts.usage() };
  });

/** Cuts a long expression for the output. */
const excerpt = (expression: string): string =>
  expression.length <= maxExcerptLength ? expression : `${expression.slice(0, maxExcerptLength).toWellFormed()}…`;
const maxExcerptLength = 200;

const isScriptError = (end: Extract<ScriptEnd, { kind: 'stopped' }>): boolean => end.errorCode === 'script_threw';

/** The rest of the node's time limit, by the monotonic clock. It bounds this process and is not recorded. */
const remaining = (timeoutMs: DurationMs, start: bigint): DurationMs => {
  const usedMs = Number((process.hrtime.bigint() - start) / 1_000_000n);
  return durationMs(Math.max(1, Math.min(expressionLimitMs, timeoutMs - usedMs)));
};
