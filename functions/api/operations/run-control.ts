/** The routes that change a run: cancel, resume, wake, and signals. */
import { defined } from '../../../lib/base/defined.ts';
import { bodyHash } from '../../../lib/api/idempotency.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { isExternalRunId } from '../../../lib/engine/external/run.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { resumeRun } from '../../../lib/service/runs/resume-run.ts';
import { type SendSignalResult, type SignalRequest, sendSignal, sendToRun } from '../../../lib/service/runs/send-signal.ts';
import { wakeRun } from '../../../lib/service/runs/wake-run.ts';
import { type OperationTable, refuse } from '../operation.ts';

type HandledOperations = 'cancelRun' | 'wakeRun' | 'resumeRun' | 'sendSignal' | 'sendRunSignal';

export const runControlOperations: OperationTable<HandledOperations> = {
  async cancelRun({ decider }, { scope, params, body }) {
    const audit = { resource: `run/${params.runId}`, facts: { runId: params.runId } };
    const result = await cancelRun(decider, { ...scope, ...params }, body.reason);
    switch (result.kind) {
      case 'cancelled':
        return { status: 200, body: { runId: params.runId, status: 'cancelled' }, audit };
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'not_found':
        return { ...refuse(result.kind), audit };
    }
  },

  async wakeRun({ decider }, { scope, params, body }) {
    const audit = { resource: `run/${params.runId}`, facts: { runId: params.runId } };
    const result = await wakeRun(decider, { ...scope, ...params }, body);
    switch (result.kind) {
      case 'woken':
        return { status: 202, body: { accepted: true, woken: result.nodeIds }, audit };
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'not_found':
        return { ...refuse(result.kind), audit };
    }
  },

  async resumeRun({ decider }, { scope, body, idempotencyKey: key }) {
    const { runId, ...resumption } = body;
    const audit = { resource: `run/${runId}`, facts: { runId } };
    if (isExternalRunId(runId)) return { ...refuse('external_run'), audit };
    const idempotency = key === '' ? {} : { idempotency: { key, bodyHash: bodyHash(body) } };
    const result = await resumeRun(decider, { ...scope, runId }, { ...resumption, ...idempotency });
    switch (result.kind) {
      case 'resumed': {
        const headers: Record<string, string> = result.isReplay ? { 'idempotency-replayed': 'true' } : {};
        const facts = defined({ ...audit.facts, deduped: key === '' ? undefined : result.isReplay });
        return { status: 202, body: { accepted: true }, headers, audit: { ...audit, facts } };
      }
      case 'idempotency_conflict':
        return { ...refuse(result.kind), audit };
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'not_found':
        return { ...refuse(result.kind), audit };
    }
  },

  async sendSignal({ decider }, { scope, body, idempotencyKey }) {
    const { correlation } = body;
    const result = await sendSignal(decider, scope, { ...requestOf(body, bodyHash(body), idempotencyKey), correlation });
    const audit = { resource: `signal/${body.name}`, facts: { correlation } };
    return result.kind === 'sent' ? acceptedResponse(result, audit) : { ...refuse(result.kind), audit };
  },

  async sendRunSignal({ decider }, { scope, params, body, idempotencyKey }) {
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
};

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
  { signalId, isDelivered, runIds, isReplay }: Extract<SendSignalResult, { kind: 'sent' }>,
  { resource, facts }: AuditContext,
) => {
  const headers: Record<string, string> = isReplay ? { 'idempotency-replayed': 'true' } : {};
  return {
    status: 202 as const,
    body: { signalId, delivered: isDelivered, workflowRunIds: runIds },
    headers,
    audit: { resource, facts: { ...facts, signalId, delivered: isDelivered, deduped: isReplay } },
  };
};
