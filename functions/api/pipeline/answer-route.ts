/**
 * One request from the door to the answer: HTTPS, key, rate, scope, parse, operation, audit. Each step answers or lets on.
 */
import type { Route } from '../../../lib/api/route.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import { type Trace, traceFacts } from '../../../lib/engine/trace.ts';
import type { ApiKey, KeyScope } from '../../../lib/ports/control.ts';
import { type AnyAnswer, type AnyOperation, type Asker, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { type AuditTrail, auditTrail } from './audit-trail.ts';
import { authenticate, checkRate, checkScope, hasKeyInQuery } from './check-key.ts';
import { type HttpCall, isProvenHttps } from './http-call.ts';
import { readRequest } from './read-request.ts';

/** Routes without a key look at no records, so whose they would be is nobody's. */
const nobody = { scope: { projectId: projectId('-'), environment: environment('-') }, caller: undefined, scopes: [] } as const;

export const answerRoute = async (
  tools: Tools,
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  trace: Trace,
): Promise<AnyAnswer> => {
  const isRefusedPlainly = tools.decider.deps.settings.requiresHttps && route.isAnsweredPlainly !== true;
  // Before the key is looked at: one that came in the clear is not to be told whether it works.
  if (isRefusedPlainly && !isProvenHttps(call)) return refuse('https_required');
  // It is not looked at either: whoever reads the addresses on the way has it too.
  if (route.scope !== null && hasKeyInQuery(call)) return refuse('key_in_query');
  const trail = auditTrail(tools, route, call, trace);
  const notRecorded = tools.failures.settle();
  if (notRecorded > 0) tools.logger.warn('failed authentications were not recorded', { ...traceFacts(trace), notRecorded });
  if (route.scope === null) {
    const answer = await run(route, operation, call, { ...nobody, trace });
    await trail.answered(undefined, answer);
    return answer;
  }
  const authenticated = await authenticate(tools, route, call);
  if (authenticated.kind !== 'authenticated') {
    await trail.failedAuthentication(authenticated.why, authenticated.kind === 'unauthorized' ? authenticated.key : undefined);
    return refuse(authenticated.kind);
  }
  const { key } = authenticated;
  // Beside everything else, and over before the answer: nothing goes on in a function that has answered.
  const noted = noteUse(tools, key, trace);
  try {
    return await answerKey(tools, route, operation, call, { key, trail, trace });
  } finally {
    await noted;
  }
};

interface Known {
  readonly key: ApiKey;
  readonly trail: AuditTrail;
  readonly trace: Trace;
}

const answerKey = async (
  tools: Tools,
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  { key, trail, trace }: Known,
): Promise<AnyAnswer> => {
  const { headers, refusal } = await checkRate(tools, key);
  // Not recorded: a key that is over its limit must not cost a write for each refusal.
  if (refusal !== undefined) return { ...refusal, headers };

  const asker = {
    scope: { projectId: key.projectId, environment: key.environment },
    caller: key.keyId,
    scopes: key.scopes,
    trace,
  };
  const answer = await recorded(trail, key, async () => checkScopeOf(route.scope, key) ?? run(route, operation, call, asker));
  return { ...answer, headers: { ...headers, ...answer.headers } };
};

/** That a use cannot be noted stops nobody: the next request tries again in another hour, or another function. */
const noteUse = async ({ authenticator, logger }: Tools, key: ApiKey, trace: Trace): Promise<void> => {
  try {
    await authenticator.noteUse(key);
  } catch (trouble) {
    const error = trouble instanceof Error ? trouble : new Error(String(trouble));
    logger.warn('the use of a key was not noted', { ...traceFacts(trace), keyId: key.keyId, error });
  }
};

const checkScopeOf = (required: KeyScope | null, key: ApiKey) => (required === null ? undefined : checkScope(key, required));

const recorded = async (trail: AuditTrail, key: ApiKey, answering: () => Promise<AnyAnswer>): Promise<AnyAnswer> => {
  let answer: AnyAnswer;
  try {
    answer = await answering();
  } catch (trouble) {
    await trail.broke(key, trouble);
    throw trouble;
  }
  await trail.answered(key, answer);
  return answer;
};

const run = async (route: Route, operation: AnyOperation, call: HttpCall, asker: Asker): Promise<AnyAnswer> => {
  const read = await readRequest(route, call);
  return 'refusal' in read ? read.refusal : operation({ ...read.request, ...asker });
};
