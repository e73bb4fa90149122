/** `stepwell clock advance`: moves the clock of the embedded cloud of this folder. */
import * as z from 'zod';
import { parseDuration } from '../../sdk/duration.ts';
import { type Action, CliError, exitCodes } from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { localDirectory } from '../project-folder.ts';
import { parseArgument } from '../parse-command-line.ts';

const durationMs = z.string({ error: 'is missing' }).transform((text, context): number => {
  try {
    // Without a unit the SDK reads milliseconds; in a terminal that is a mistake.
    const ms = /^[\d.]+$/.test(text) ? Number.NaN : Math.round(parseDuration(text));
    if (ms > 0) return ms;
  } catch {
    // Reported below.
  }
  context.addIssue("must be a duration with a unit, such as '8 days' or 90m");
  return z.NEVER;
});

const answerShape = z.object({ offsetMs: z.number(), now: z.string() });
const refusalShape = z.object({ message: z.string() });

export const advanceClock: Action = async (commandLine, context) => {
  const advanceMs = parseArgument(commandLine, 0, 'duration', durationMs);
  const local = readLocalInstallation(context);
  if (local?.clock === undefined)
    throw new CliError(
      'no_connection',
      `No embedded cloud runs on ${localDirectory(context)}: only its clock can be advanced. Start it with stepwell start.`,
      exitCodes.usage,
    );
  const response = await context
    .fetch(`${local.clock.url}/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${local.clock.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ advanceMs }),
      signal: context.signal,
    })
    .catch(() => {
      context.signal.throwIfAborted();
      throw new CliError('unreachable', 'The embedded cloud did not respond: start it again.', exitCodes.unreachable);
    });
  const body: unknown = await response.json();
  if (!response.ok) throw new CliError('clock_refused', `${refusalShape.parse(body).message}.`);
  const { offsetMs, now } = answerShape.parse(body);
  return {
    data: { offsetMs, now },
    text: `The clock of the embedded cloud is at ${now}. Waits and schedules that are due now continue.`,
  };
};
