/** How a run ended, in one line and as an exit code. */
import type { EndedRun } from '../../client/index.ts';
import { type ExitCode, type CommandContext, exitCodes } from '../command.ts';
import { formatStatus } from '../format.ts';

export function formatEndedRun(
  context: Pick<CommandContext, 'colorize'>,
  run: EndedRun,
): { readonly exitCode: ExitCode; readonly summary: string } {
  const reason = run.error === undefined ? run.cancelReason : `${run.error.code}: ${run.error.message}`;
  return {
    exitCode: run.status === 'completed' ? exitCodes.ok : exitCodes.failed,
    summary: `${formatStatus(context, run.status)}  ${run.runId}${reason === undefined ? '' : `  ${reason}`}`,
  };
}
