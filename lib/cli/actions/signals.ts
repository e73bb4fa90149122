/** `stepwell signals send` and `stepwell runs signal`. */
import * as z from 'zod';
import { type Action, type CommandContext, type CommandLine, type Outcome, usageError } from '../command.ts';
import {
  file,
  idempotencyKey,
  integerBetween,
  json,
  omitUndefined,
  parseArgument,
  parseOptions,
  readJson,
  signalId,
} from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';
import type { StepwellClient } from '../../client/index.ts';

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
  const { body, callOptions } = readSignal(commandLine, 1, context, parseOptions(commandLine, runSignalShape));
  const id = await readRunReference(commandLine, context);
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
  text: sent.delivered
    ? `${sent.signalId} is delivered to ${sent.workflowRunIds.join(', ')}.`
    : `${sent.signalId} is stored: no run waits for it yet.`,
});
