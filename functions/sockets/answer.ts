/** What a client says, and what it is answered at once; what happens in a run is posted by the run's speaker. */
import { allows } from '../../lib/api/auth/authorize.ts';
import { envelope } from '../../lib/api/error-body.ts';
import type { Fault } from '../../lib/api/errors.ts';
import { socketActions, socketMessage, socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { type RunId, runId } from '../../lib/engine/ids.ts';
import type { Connection } from '../../lib/ports/sockets.ts';
import { joinRun, mostJoined, openConnection } from '../../lib/service/join-run.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { checkRate } from '../api/pipeline/check-key.ts';
import { type SocketEvent, textOf } from './event.ts';
import type { SocketTools } from './tools.ts';

type Said = ReturnType<typeof socketMessage.parse>;

/** The frame to answer with; undefined: what follows is posted. */
export async function answerMessage(tools: SocketTools, event: SocketEvent): Promise<string | undefined> {
  const { connectionId, requestId } = event.requestContext;
  const said = readMessage(textOf(event));
  if ('refused' in said) return errorFrame(said, requestId, undefined);
  if (said.action === 'ping') return JSON.stringify({ type: 'pong' });
  const known = await openConnection(tools, connectionId, tools.decider.deps.clock.now());
  if (known === undefined) return errorFrame(refuse('unauthorized'), requestId, said.runId);
  const named = runId(said.runId);
  if (said.action === 'leave') {
    await tools.sockets.leave({ ...known.connection.scope, runId: named }, connectionId);
    return JSON.stringify({ type: 'left', runId: named, reason: 'asked' });
  }
  const refusal = (await refusalOf(tools, known.connection)) ?? (await join(tools, known, named, said.after));
  return refusal === undefined ? undefined : errorFrame(refusal, requestId, named);
}

/** The frame of a failure, which keeps the connection. */
export const errorFrame = ({ refused, details }: Refusal, requestId: string, of: string | undefined): string =>
  JSON.stringify({ type: 'error', ...(of === undefined ? {} : { runId: of }), ...envelope(refused, requestId, details) });

function readMessage(text: string): Said | Refusal {
  if (Buffer.byteLength(text) > socketMessageLimitBytes) {
    return refuse('payload_too_large', { message: `A message has at most ${socketMessageLimitBytes} bytes.` });
  }
  const parsed = parse(text);
  if (parsed === undefined) return invalid([{ place: '', code: 'invalid_json', message: 'The message is not JSON.' }]);
  const result = socketMessage.safeParse(parsed.value);
  if (result.success) return result.data;
  return invalid(
    result.error.issues.map(({ path, code, message }) =>
      code === 'invalid_union'
        ? { place: '/action', code: 'unknown_action', message: `The actions are ${socketActions.join(', ')}.` }
        : { place: path.map((part) => `/${String(part)}`).join(''), code, message },
    ),
  );
}

const invalid = (errors: readonly Fault[]): Refusal =>
  refuse('invalid_request', { message: 'The message is not one that this takes.', errors });

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** Judged anew at each join: the socket may have been open for two hours. */
async function refusalOf(tools: SocketTools, { keyId }: Connection): Promise<Refusal | undefined> {
  const result = await tools.authenticator.recheck(keyId);
  if (result.kind !== 'authenticated') return refuse('unauthorized');
  if (!allows(result.key.scopes, 'runs:read')) return refuse('missing_scope', { required: 'runs:read' });
  return (await checkRate(tools, result.key)).refusal;
}

async function join(
  tools: SocketTools,
  known: { readonly connection: Connection; readonly joined: readonly RunId[] },
  named: RunId,
  after: number,
): Promise<Refusal | undefined> {
  const { log, ids } = tools.decider.deps;
  const { sockets, watches } = tools;
  const { kind } = await joinRun({ log, ids, sockets, watches }, { ...known, runId: named, after });
  if (kind === 'joined') return undefined;
  if (kind === 'not_found') return refuse(kind);
  const message = `A connection watches at most ${mostJoined} runs at once: leave one, or open another.`;
  return refuse('invalid_request', { message, errors: [{ place: '/runId', code: 'too_many_runs', message }] });
}
