/** `signals send` and `runs signal`. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import { type Action, type Given, type Outcome, type Shell, usageFault } from '../command.ts';
import { argument, count, file, idempotencyKey, json, optionsIn, present, readJson, runId, signalId } from '../given.ts';

const word = z.string({ error: 'is missing' }).min(1, 'must not be empty');
const facts = {
  payload: json.optional(),
  payloadFile: file.optional(),
  signalId: signalId.optional(),
  expiresInSeconds: count(1, 2_592_000).optional(),
  idempotencyKey: idempotencyKey.optional(),
};
const toRun = z.object(facts);
const toAnyone = z.object({ ...facts, correlation: word });

type Sent = Awaited<ReturnType<StepwellClient['sendSignal']>>;

export const signalRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { body, calling } = signalIn(given, 1, shell, optionsIn(given, toRun));
  const client = await shell.client();
  return told(await client.sendRunSignal(id, body, calling));
};

export const sendSignal: Action = async (given, shell) => {
  const options = optionsIn(given, toAnyone);
  const { body, calling } = signalIn(given, 0, shell, options);
  const client = await shell.client();
  return told(await client.sendSignal({ ...body, correlation: options.correlation }, calling));
};

/** @throws CliFault */
function signalIn(given: Given, place: number, { cwd, signal }: Shell, options: z.output<typeof toRun>) {
  const { payload: inLine, payloadFile, signalId: ownId, expiresInSeconds, idempotencyKey: key } = options;
  if (inLine !== undefined && payloadFile !== undefined) throw usageFault('--payload and --payload-file exclude each other.');
  const payload = payloadFile === undefined ? inLine : readJson(cwd, payloadFile);
  const name = argument(given, place, 'name', word);
  return {
    body: { name, ...present({ payload, signalId: ownId, expiresInSeconds }) },
    calling: { signal, ...present({ idempotencyKey: key }) },
  };
}

const told = (sent: Sent): Outcome => ({
  data: sent,
  text: sent.delivered ? `${sent.signalId} is delivered.` : `${sent.signalId} is kept: nobody waits for it yet.`,
});
