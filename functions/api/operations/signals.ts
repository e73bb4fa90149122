/** The signal routes. */
import { defined } from '../../../lib/base/defined.ts';
import { bodyHash } from '../../../lib/api/idempotency.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { type SendSignalResult, type SignalRequest, sendSignal, sendToRun } from '../../../lib/service/runs/send-signal.ts';
import { type Operations, refuse, type Tools } from '../operation.ts';

type HandledOperations = 'sendSignal' | 'sendRunSignal';

export const signalOperations = ({ decider }: Tools): Pick<Operations<'api'>, HandledOperations> => ({
  sendSignal: async ({ scope, body, idempotencyKey }) => {
    const { correlation } = body;
    const result = await sendSignal(decider, scope, { ...requestOf(body, bodyHash(body), idempotencyKey), correlation });
    const audit = { resource: `signal/${body.name}`, facts: { correlation } };
    return result.kind === 'sent' ? acceptedResponse(result, audit) : { ...refuse(result.kind), audit };
  },

  sendRunSignal: async ({ scope, params, body, idempotencyKey }) => {
    const run = { ...scope, ...params };
    const result = await sendToRun(decider, run, requestOf(body, bodyHash({ ...params, ...body }), idempotencyKey));
    const audit = { resource: `run/${params.runId}`, facts: { runId: params.runId, signal: body.name } };
    switch (result.kind) {
      case 'sent':
        return acceptedResponse(result, audit);
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'not_found':
      case 'idempotency_conflict':
        return { ...refuse(result.kind), audit };
    }
  },
});

/** @param key empty if the request has none */
const requestOf = (body: BodyOf<'sendRunSignal'>, hash: string, key: string): SignalRequest => {
  const { name, payload = null, signalId, expiresInSeconds } = body;
  return defined({
    name,
    payload,
    bodyHash: hash,
    signalId,
    idempotencyKey: key === '' ? undefined : key,
    expiresIn: expiresInSeconds === undefined ? undefined : seconds(expiresInSeconds),
  });
};

interface AuditContext {
  readonly resource: string;
  readonly facts: Readonly<Record<string, string>>;
}

const acceptedResponse = (
  { signalId, isDelivered, isReplay }: Extract<SendSignalResult, { kind: 'sent' }>,
  { resource, facts }: AuditContext,
) => {
  const headers: Record<string, string> = isReplay ? { 'idempotency-replayed': 'true' } : {};
  return {
    status: 202 as const,
    body: { signalId, delivered: isDelivered },
    headers,
    audit: { resource, facts: { ...facts, signalId, delivered: isDelivered, deduped: isReplay } },
  };
};
