/** `stepwell hooks resume`: what `resumeHook()` does in the app, for an operator. */
import * as z from 'zod';
import type { CallOptions, Run, StepwellClient } from '../../client/index.ts';
import { type Action, usageError } from '../command.ts';
import { file, idempotencyKey, json, omitUndefined, parseArgument, parseOptions, readJson } from '../parse-command-line.ts';

const optionsShape = z.object({
  payload: json.optional(),
  payloadFile: file.optional(),
  idempotencyKey: idempotencyKey.optional(),
});
const tokenShape = z.string({ error: 'is missing' }).min(1, 'must not be empty');

export const resumeHook: Action = async (commandLine, context) => {
  const { payload: inlinePayload, payloadFile, idempotencyKey: key } = parseOptions(commandLine, optionsShape);
  if (inlinePayload !== undefined && payloadFile !== undefined)
    throw usageError('--payload and --payload-file exclude each other.');
  const payload = payloadFile === undefined ? inlinePayload : readJson(context.cwd, payloadFile);
  const token = parseArgument(commandLine, 0, 'token', tokenShape);
  const client = await context.client();
  const options = { signal: context.signal, ...omitUndefined({ idempotencyKey: key }) };
  const resumed = await client.resumeHook({ token, ...omitUndefined({ payload }) }, options);
  return { data: resumed, text: `Hook ${resumed.hookId} of ${resumed.runId} is resumed.` };
};

/** How the hook of a node is resumed. */
export interface OpenHook {
  readonly token: string;
  readonly isWebhook: boolean;
}

const hooksPage = z.object({
  data: z.array(z.object({ hookId: z.string(), token: z.string(), isWebhook: z.boolean().default(false) })),
});

/** The open hooks of a run by their nodes. Tokens need the scope `world:proxy`: without it, none is returned. */
export async function readOpenHooks(
  client: StepwellClient,
  { runId, nodes }: Run,
  options: CallOptions,
): Promise<ReadonlyMap<string, OpenHook>> {
  if (!nodes.some(({ type, waitingFor }) => type === 'hook' && waitingFor !== undefined)) return new Map();
  const page = await client.listWorldHooks({ runId, resolveData: 'none' }, options).catch(() => undefined);
  const { data = [] } = hooksPage.safeParse(page).data ?? {};
  return new Map(data.map(({ hookId, ...hook }) => [hookId, hook]));
}

/** How the hook of a node is resumed, as a clause. @param hook undefined: this key may not read its token */
export const describeResumption = (hook: OpenHook | undefined): string => {
  if (hook?.isWebhook === true) return 'a request to the address of its webhook resumes it';
  const token = hook === undefined ? '<token>' : quoted(hook.token);
  return `stepwell hooks resume ${token} --payload '{…}' resumes it`;
};

/** For a shell. */
const quoted = (token: string): string =>
  /^[\w./:@%+=,-]+$/.test(token) && !token.startsWith('-') ? token : `'${token.replaceAll("'", String.raw`'\''`)}'`;
