import { type Check, formatCheck, worstResult } from '../../ownership/check.ts';
import { type Outcome, exitCodes } from '../command.ts';

const exitCodeByResult = { pass: exitCodes.ok, warn: exitCodes.warned, fail: exitCodes.failed } as const;

/** A line for each check, and the exit code of the worst. */
export const checksOutcome = (checks: readonly Check[]): Outcome => ({
  data: { checks },
  text: checks.map(formatCheck).join('\n'),
  exitCode: exitCodeByResult[worstResult(checks)],
});
