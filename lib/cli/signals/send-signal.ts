/** `signals send` and `runs signal`. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import { type Action, type CommandLine, type Outcome, type CommandContext, usageError } from '../command.ts';
import {
  parseArgument,
  integerBetween,
  file,
  idempotencyKey,
  json,
  parseOptions,
  omitUndefined,
  readJson,
  runId,
  signalId,
} from '../parse-command-line.ts';

const nonEmptyText = z.string({ error: 'is missing' }).min(1, 'must not be empty');
const signalFields = {
  payload: json.optional(),
  payloadFile: file.optional(),
  signalId: signalId.optional(),
  expiresInSeconds: integerBetween(1, 2_592_000).optional(),
  idempotencyKey: idempotencyKey.optional(),
};
const runSignalShape = z.object(signalFields);
const correlatedSignalShape = z.object({ ...signalFields, correlation: nonEmptyText });

type Sent = Awaited<ReturnType<StepwellClient['sendSignal']>>;

export const signalRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { body, callOptions } = readSignal(commandLine, 1, context, parseOptions(commandLine, runSignalShape));
  const client = await context.client();
  return signalOutcome(await client.sendRunSignal(id, body, callOptions));
};

export const sendSignal: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, correlatedSignalShape);
  const { body, callOptions } = readSignal(commandLine, 0, context, options);
  const client = await context.client();
  return signalOutcome(await client.sendSignal({ ...body, correlation: options.correlation }, callOptions));
};

/** @throws CliError */
function readSignal(
  commandLine: CommandLine,
  position: number,
  { cwd, signal }: CommandContext,
  options: z.output<typeof runSignalShape>,
) {
  const { payload: inlinePayload, payloadFile, signalId: requestedId, expiresInSeconds, idempotencyKey: key } = options;
  if (inlinePayload !== undefined && payloadFile !== undefined)
    throw usageError('--payload and --payload-file exclude each other.');
  const payload = payloadFile === undefined ? inlinePayload : readJson(cwd, payloadFile);
  const name = parseArgument(commandLine, position, 'name', nonEmptyText);
  return {
    body: { name, ...omitUndefined({ payload, signalId: requestedId, expiresInSeconds }) },
    callOptions: { signal, ...omitUndefined({ idempotencyKey: key }) },
  };
}

const signalOutcome = (sent: Sent): Outcome => ({
  data: sent,
  text: sent.delivered ? `${sent.signalId} is delivered.` : `${sent.signalId} is kept: nobody waits for it yet.`,
});
