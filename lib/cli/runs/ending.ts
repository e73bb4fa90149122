/** How a run ended, in one line and as an exit code. */
import type { EndedRun } from '../../client/index.ts';
import { type ExitCode, type Shell, exitCodes } from '../command.ts';
import { status } from '../words.ts';

export function ending(shell: Pick<Shell, 'paint'>, run: EndedRun): { readonly exitCode: ExitCode; readonly sentence: string } {
  const why = run.error === undefined ? run.cancelReason : `${run.error.code}: ${run.error.message}`;
  return {
    exitCode: run.status === 'completed' ? exitCodes.ok : exitCodes.failed,
    sentence: `${status(shell, run.status)}  ${run.runId}${why === undefined ? '' : `  ${why}`}`,
  };
}
