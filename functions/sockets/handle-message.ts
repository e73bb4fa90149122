/** Handles messages of WebSocket clients. The run's broadcaster posts the updates of a run. */
import { defined } from '../../lib/base/defined.ts';
import { allows, watchScopes } from '../../lib/api/auth.ts';
import { type ErrorDetail, createErrorEnvelope } from '../../lib/api/errors.ts';
import { socketActions, socketMessage, socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { type RunId, runId } from '../../lib/engine/ids.ts';
import type { Connection } from '../../lib/ports/sockets.ts';
import { joinRun, maxJoinedRuns, openConnection } from '../../lib/service/watching/join-run.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { checkRate } from '../api/pipeline/check-key.ts';
import { type SocketEvent, type SocketTools, textOf } from './event.ts';

type ClientMessage = ReturnType<typeof socketMessage.parse>;

/** The response frame; undefined if the broadcaster posts the response. */
export async function handleMessage(tools: SocketTools, event: SocketEvent): Promise<string | undefined> {
  const { connectionId, requestId } = event.requestContext;
  const clientMessage = readMessage(textOf(event));
  if ('refused' in clientMessage) return errorFrame(clientMessage, requestId, undefined);
  if (clientMessage.action === 'ping') return JSON.stringify({ type: 'pong' });
  const session = await openConnection(tools, connectionId, tools.decider.deps.clock.now());
  if (session === undefined) return errorFrame(refuse('unauthorized'), requestId, clientMessage.runId);
  const requestedRunId = runId(clientMessage.runId);
  if (clientMessage.action === 'leave') {
    await tools.sockets.leave({ ...session.connection.scope, runId: requestedRunId }, connectionId);
    return JSON.stringify({ type: 'left', runId: requestedRunId, reason: 'requested' });
  }
  const refusal =
    (await checkAccess(tools, session.connection)) ??
    (await joinRequestedRun(tools, session, requestedRunId, clientMessage.after));
  return refusal === undefined ? undefined : errorFrame(refusal, requestId, requestedRunId);
}

/** An error frame. The connection stays open. */
export const errorFrame = ({ refused, details }: Refusal, requestId: string, runIdText: string | undefined): string =>
  JSON.stringify(
    defined({
      type: 'error',
      runId: runIdText,
      ...createErrorEnvelope(refused, requestId, details),
    }),
  );

function readMessage(text: string): ClientMessage | Refusal {
  if (Buffer.byteLength(text) > socketMessageLimitBytes) {
    return refuse('payload_too_large', { message: `A message may have at most ${socketMessageLimitBytes} bytes.` });
  }
  const parsed = parseJson(text);
  if (parsed === undefined)
    return refuseInvalidMessage([{ pointer: '', code: 'invalid_json', message: 'The message is not valid JSON.' }]);
  const result = socketMessage.safeParse(parsed.value);
  if (result.success) return result.data;
  return refuseInvalidMessage(
    result.error.issues.map(({ path, code, message }) =>
      code === 'invalid_union'
        ? { pointer: '/action', code: 'unknown_action', message: `The actions are ${socketActions.join(', ')}.` }
        : { pointer: path.map((part) => `/${String(part)}`).join(''), code, message },
    ),
  );
}

const refuseInvalidMessage = (errors: readonly ErrorDetail[]): Refusal =>
  refuse('invalid_request', { message: 'The message does not match any action.', errors });

const parseJson = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** Checks the key again at each join: a socket can be open for two hours. */
async function checkAccess(tools: SocketTools, { keyId }: Connection): Promise<Refusal | undefined> {
  const result = await tools.authenticator.recheck(keyId);
  if (result.kind !== 'authenticated') return refuse('unauthorized');
  // The broadcaster posts the same frames to every watcher of a run, so a watcher must be allowed to see all of them.
  const missing = watchScopes.find((scope) => !allows(result.key.scopes, scope));
  if (missing !== undefined) return refuse('missing_scope', { required: missing });
  return (await checkRate(tools, result.key)).refusal;
}

async function joinRequestedRun(
  tools: SocketTools,
  session: { readonly connection: Connection; readonly joined: readonly RunId[] },
  requestedRunId: RunId,
  after: number,
): Promise<Refusal | undefined> {
  const { log, ids } = tools.decider.deps;
  const { sockets, watches } = tools;
  const { kind } = await joinRun({ log, ids, sockets, watches }, { ...session, runId: requestedRunId, after });
  if (kind === 'joined') return undefined;
  if (kind === 'not_found') return refuse(kind);
  const message = `A connection watches at most ${maxJoinedRuns} runs at once. Leave a run or open another connection.`;
  return refuse('invalid_request', { message, errors: [{ pointer: '/runId', code: 'too_many_runs', message }] });
}
