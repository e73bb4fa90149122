/**
 * A condition with scripts in it: each is run once, and then the branches are judged as ever. A script that throws is
 * a no, and says so among what the node printed; one that hits a limit fails the node, because a branch that is taken
 * for lack of time would be taken by chance.
 */
import { collectPrintedLines } from '../../engine/log/printed-lines.ts';
import { type DurationMs, durationMs, seconds } from '../../engine/time.ts';
import { type Runner, failed, runner } from '../runner.ts';
import { withinSlice } from '../sandbox/first-slice.ts';
import { scriptFailure } from '../sandbox/script-failure.ts';
import { type Sandbox, type ScriptEnd, scriptWith } from '../sandbox/script.ts';
import { chooseBranch, condition, expressionsOf } from './shape.ts';

/** An expression decides, it does not compute. */
const expressionLimitMs = seconds(5);

export const runCondition = (sandbox: Sandbox, memoryBytes: number): Runner =>
  runner(condition, async (config, input, { signal, timeoutMs, firstSlice }) => {
    const sliced = withinSlice(sandbox, firstSlice);
    const results = new Map<string, boolean>();
    const printed = collectPrintedLines();
    const start = process.hrtime.bigint();
    for (const expression of new Set(expressionsOf(config))) {
      const limits = { timeoutMs: remaining(timeoutMs, start), memoryBytes };
      const end = await sliced.run(scriptWith(`return !!(${expression}\n)`, input, limits), signal);
      for (const line of end.printed) printed.add(line);
      if (end.kind === 'stopped' && !isScriptError(end)) return failed(scriptFailure(end), { printed: printed.lines() });
      if (end.kind === 'stopped') printed.add(`${excerpt(expression)}: ${end.message}`);
      results.set(expression, end.kind === 'returned' && end.output === 'true');
    }
    return { outcome: chooseBranch(config, input, (expression) => results.get(expression) === true), printed: printed.lines() };
  });

/** As much of it as tells it from others. */
const excerpt = (expression: string): string =>
  expression.length <= maxExcerptLength ? expression : `${expression.slice(0, maxExcerptLength).toWellFormed()}…`;
const maxExcerptLength = 200;

const isScriptError = (end: Extract<ScriptEnd, { kind: 'stopped' }>): boolean => end.errorCode === 'script_threw';

/** Of the node's limit, by the clock that nobody sets: a bound on this machine, not a fact of the run. */
const remaining = (timeoutMs: DurationMs, start: bigint): DurationMs => {
  const usedMs = Number((process.hrtime.bigint() - start) / 1_000_000n);
  return durationMs(Math.max(1, Math.min(expressionLimitMs, timeoutMs - usedMs)));
};
