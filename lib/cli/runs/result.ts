import * as z from 'zod';
import { type EndedRun, type StepwellClient, TransportComputeClientError } from '../../client/index.ts';
import { type Action, CliError, type CommandContext } from '../command.ts';
import { parseArgument, integerBetween, parseOptions, runId } from '../parse-command-line.ts';
import { formatEndedRun } from './format-ended-run.ts';

const shape = z.object({ timeout: integerBetween(1, 2_000_000).optional() });

export const result: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { timeout } = parseOptions(commandLine, shape);
  const run = await awaitEnd(await context.client(), id, timeout, context.signal);
  const { exitCode, summary } = formatEndedRun(context, run);
  // The output alone on stdout, so that it can be piped on.
  if (run.status === 'completed') return { data: run, text: formatOutput(run), exitCode };
  if (!context.isJson) context.log(summary);
  return { data: run, text: '', exitCode };
};

async function awaitEnd(
  client: StepwellClient,
  id: string,
  timeout: number | undefined,
  signal: CommandContext['signal'],
): Promise<EndedRun> {
  try {
    return await client.result(id, timeout === undefined ? { signal } : { signal, timeoutMs: timeout * 1_000 });
  } catch (error) {
    // The client's words for it begin with the run; those of a request without an answer begin with the request.
    const hasTimedOut = error instanceof TransportComputeClientError && error.kind === 'timeout' && error.message.startsWith(id);
    if (hasTimedOut) throw new CliError('not_ended', `${id} has not ended within ${timeout} s; it goes on.`);
    throw error;
  }
}

const formatOutput = ({ output, outputOmitted }: EndedRun): string =>
  outputOmitted === undefined ? JSON.stringify(output ?? null, null, 2) : `${outputOmitted.bytes} bytes, too large to show`;
