import { type Check, lineOf, worstOf } from '../../ownership/check.ts';
import { type Outcome, exitCodes } from '../command.ts';

const codes = { pass: exitCodes.ok, warn: exitCodes.warned, fail: exitCodes.failed } as const;

/** A line for each check, and the exit code of the worst. */
export const outcomeOf = (checks: readonly Check[]): Outcome => ({
  data: { checks },
  text: checks.map(lineOf).join('\n'),
  exitCode: codes[worstOf(checks)],
});
