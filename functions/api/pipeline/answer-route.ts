/**
 * One request from the door to the answer: key, rate, scope, parse, operation, audit. Each step answers or lets on.
 */
import { errorCatalogue } from '../../../lib/api/errors.ts';
import type { Route } from '../../../lib/api/route.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import type { ApiKey, AuditEntry } from '../../../lib/ports/control.ts';
import { recordAudit } from '../../../lib/service/record-audit.ts';
import { type AnyAnswer, type AnyOperation, type Asker, type AuditNote, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { authenticate, checkRate, checkScope } from './check-key.ts';
import type { HttpCall } from './http-call.ts';
import { readRequest } from './read-request.ts';

/** Routes without a key look at no records, so whose they would be is nobody's. */
const nobody: Asker = { scope: { projectId: projectId('-'), environment: environment('-') }, caller: undefined };

export const answerRoute = async (
  tools: Tools,
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  correlationId: string,
): Promise<AnyAnswer> => {
  if (route.scope === null) return run(route, operation, call, nobody);
  const auditor = auditOf(tools, call, correlationId);

  const authenticated = await authenticate(tools, call);
  if (authenticated.kind === 'unauthorized') {
    await auditor(authenticated.key, 'auth.failure', 'failure', {
      resource: `${route.method} ${route.path}`,
      facts: { why: authenticated.why },
    });
    return refuse('unauthorized');
  }
  const { key } = authenticated;
  const { headers, refusal } = await checkRate(tools, key);
  const refused = refusal ?? checkScope(key, route.scope);
  if (refused !== undefined) return { ...refused, headers };

  const scope = { projectId: key.projectId, environment: key.environment };
  const answer = await run(route, operation, call, { scope, caller: key.keyId });
  if (route.action !== undefined && answer.audit !== undefined) {
    await auditor(key, route.action, 'refused' in answer ? 'failure' : 'success', withOutcome(answer, answer.audit));
  }
  return { ...answer, headers: { ...headers, ...answer.headers } };
};

const run = async (route: Route, operation: AnyOperation, call: HttpCall, asker: Asker): Promise<AnyAnswer> => {
  const read = readRequest(route, call);
  return 'refusal' in read ? read.refusal : operation({ ...read.request, ...asker });
};

const withOutcome = (answer: AnyAnswer, note: AuditNote): AuditNote => ({
  ...note,
  facts: {
    ...note.facts,
    status: 'refused' in answer ? errorCatalogue[answer.refused].status : Number(answer.status),
    ...('refused' in answer ? { code: answer.refused } : {}),
  },
});

/** A user agent is the caller's to write, and is kept only as long as one usually is. */
const userAgentLength = 256;

const auditOf =
  ({ decider: { deps } }: Tools, call: HttpCall, correlationId: string) =>
  (key: ApiKey | undefined, action: string, result: AuditEntry['result'], { resource, facts }: AuditNote): Promise<void> =>
    recordAudit(deps, {
      keyId: key?.keyId ?? null,
      scope: key === undefined ? null : { projectId: key.projectId, environment: key.environment },
      action,
      resource,
      result,
      ...(call.ip === undefined ? {} : { ip: call.ip }),
      ...(call.userAgent === undefined ? {} : { userAgent: call.userAgent.slice(0, userAgentLength) }),
      metadata: { lane: 'public', correlationId, ...facts },
    });
