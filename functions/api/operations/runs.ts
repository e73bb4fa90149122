/** The routes that start and rerun runs. */
import { type ErrorDetail, type ErrorEnvelope, createErrorEnvelope } from '../../../lib/api/errors.ts';
import { bodyHash } from '../../../lib/api/idempotency.ts';
import type { BodyOf, ErrorOf } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { maxDeadline } from '../../../lib/engine/log/head.ts';
import { isTerminal } from '../../../lib/engine/log/fold.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { type Instant, after, iso, seconds } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { type BatchOutcome, startBatch } from '../../../lib/service/runs/start-batch.ts';
import { rerunRun } from '../../../lib/service/runs/rerun-run.ts';
import { type StartResult, startRun, type UnknownWorkflow } from '../../../lib/service/runs/start-run.ts';
import { type AwaitedStart, startAndWait } from '../../../lib/service/runs/start-and-wait.ts';
import { type ApiTools, type OperationTable, type Refusal, refuse } from '../operation.ts';
import { failureOf, outputOf } from './run-view.ts';

type HandledOperations = 'startRun' | 'startRunBatch' | 'rerunRun';
type StartBody = BodyOf<'startRun'>;

/** The only supported version of the body of a start. */
const knownSpecVersion = 1;

export const runOperations: OperationTable<HandledOperations, ApiTools> = {
  async startRun({ decider, jobCalls }, { scope, body, query: { wait }, idempotencyKey, trace, alongside, recordNow }) {
    const audit = { resource: `workflow/${body.workflowName}` };
    const refusal = startRefusal(body, decider.deps.clock.now());
    if (refusal !== undefined) return { ...refusal, audit };
    const request = { ...requestOf(body), ...defined({ scope, idempotencyKey, trace, alongside }) };
    const auditOf = ({ runId, isReplay }: Pick<Extract<StartResult, { kind: 'started' }>, 'runId' | 'isReplay'>) => ({
      resource: `run/${runId}`,
      facts: { deduped: isReplay, runId },
    });
    const result: StartResult | AwaitedStart =
      wait === undefined
        ? await startRun(decider, request)
        : await startAndWait(decider, jobCalls, request, seconds(wait), (started) =>
            recordNow?.({ status: 202, audit: auditOf(started) }),
          );
    if (result.kind !== 'started') return { ...notStarted(result, body), audit };
    const { runId, isReplay } = result;
    return {
      ...startResponse(result),
      headers: defined({ location: `/v1/runs/${runId}`, 'idempotency-replayed': isReplay ? 'true' : undefined }),
      audit: auditOf(result),
    };
  },

  async startRunBatch({ decider }, { scope, body: { runs }, trace }) {
    const now = decider.deps.clock.now();
    const starts = runs.map(({ idempotencyKey, ...body }) => ({ idempotencyKey, body, refusal: startRefusal(body, now) }));
    const accepted = starts.filter(({ refusal }) => refusal === undefined);
    const outcomes = await startBatch(
      decider,
      accepted.map(({ idempotencyKey, body }) => ({ ...requestOf(body), scope, idempotencyKey, trace })),
    );
    const outcomeOf = new Map(accepted.map((start, index) => [start, outcomes[index]]));
    const data = starts.map((start, index) => {
      const { idempotencyKey, body } = start;
      const outcome = outcomeOf.get(start);
      if (outcome?.kind !== 'started') {
        const refusal = start.refusal ?? refusalOf(outcome, body);
        return { idempotencyKey, error: errorOfStart(refusal, index, trace.correlationId) };
      }
      const { runId, deploymentId, isReplay } = outcome;
      return {
        idempotencyKey,
        run: defined({ runId, status: 'pending' as const, deploymentId, isReplay: isReplay || undefined }),
      };
    });
    const runIds = data.flatMap(({ run }) => (run === undefined ? [] : [run.runId]));
    return {
      status: 200,
      body: { data },
      audit: { resource: 'runs', facts: { runIds, refused: data.length - runIds.length } },
    };
  },

  async rerunRun({ decider }, { scope, params, body, idempotencyKey, trace }) {
    const replacements = body.results ?? body.replace;
    const replaced = replacements === undefined ? undefined : Object.keys(replacements);
    const facts = defined({ rerunOf: params.runId, fromNode: body.fromNode, replaced });
    const audit = { resource: `run/${params.runId}`, facts };
    const rerunRequest = { idempotencyKey, bodyHash: bodyHash({ ...params, ...body }), trace };
    const { fromNode: from, ...edited } = body;
    const sourceRun = { ...scope, ...params };
    const result = await rerunRun(decider, defined({ ...rerunRequest, sourceRun, ...edited, from }));
    switch (result.kind) {
      case 'started': {
        const { runId, deploymentId, isReplay } = result;
        return {
          status: 202,
          body: { runId, status: 'pending', deploymentId, rerunOf: params.runId },
          headers: defined({ location: `/v1/runs/${runId}`, 'idempotency-replayed': isReplay ? 'true' : undefined }),
          audit: { resource: `run/${runId}`, facts: { ...facts, deduped: isReplay, runId } },
        };
      }
      case 'input_invalid':
        return { ...refuse(result.kind, { errors: result.errors }), audit };
      case 'version_not_found':
        return { ...refuse('not_found', { message: `${result.workflowName} has no version ${body.version}.` }), audit };
      case 'not_applicable':
        return { ...refuse('invalid_request', { errors: [notApplicable(result.field)] }), audit };
      case 'node_not_found':
        return { ...refuse('not_found', { message: `The workflow has no node ${result.nodeId}.` }), audit };
      case 'step_not_found':
        return {
          ...refuse('not_found', { message: `The run has no step ${JSON.stringify(result.step)}: it never began.` }),
          audit,
        };
      case 'results_not_kept':
        return { ...refuse('invalid_request', { errors: result.steps.map(resultNotKept) }), audit };
      case 'outputs_not_kept':
        return { ...refuse('invalid_request', { errors: result.nodeIds.map(outputNotKept) }), audit };
      case 'step_rolled_back':
        return { ...refuse(result.kind, { message: rolledBackMessage(result.step) }), audit };
      case 'too_many_values':
        return { ...refuse('rerun_too_large', { message: tooManyValuesMessage(result) }), audit };
      case 'deployment_not_found':
        return { ...refuse('not_found', { message: `There is no deployment ${result.deploymentId}.` }), audit };
      case 'run_exists':
        // The generated run id is in use. The idempotency key is released, so a retry generates another id.
        throw new Unavailable('no free run id was generated');
      case 'idempotency_conflict':
      case 'not_found':
      case 'test_run':
      case 'run_deleted':
      case 'workflow_archived':
      case 'workflow_deleting':
      case 'workflow_not_found':
      case 'node_not_reached':
      case 'deployment_not_verified':
      case 'run_open':
        return { ...refuse(result.kind), audit };
    }
  },
};

/** The fields of a start, without its key. */
function requestOf({ specVersion, ...start }: StartBody) {
  return { ...start, bodyHash: bodyHash({ specVersion, ...start }) };
}

/** Why a start started nothing. */
function notStarted(
  result: Exclude<StartResult | AwaitedStart, { readonly kind: 'started' }>,
  { version, workflowName }: StartBody,
): Refusal<ErrorOf<'startRun'>> {
  switch (result.kind) {
    case 'input_invalid':
      return refuse(result.kind, { errors: result.errors });
    case 'deployment_not_found':
      return refuse('not_found', { message: `There is no deployment ${result.deploymentId}.` });
    case 'deadline_passed':
      return refuse('invalid_request', { errors: [deadlinePassed] });
    case 'node_not_reached':
      throw new Error('unexpected result node_not_reached: a start does not continue from a node');
    case 'run_exists':
    case 'run_deleted':
    case 'idempotency_conflict':
    case 'no_active_deployment':
    case 'deployment_not_verified':
    case 'workflow_archived':
    case 'workflow_deleting':
      return refuse(result.kind);
    case 'workflow_not_found':
      return version === undefined ? refuseUnknownWorkflow(result) : refuseUnknownGraph;
    case 'version_not_found':
      return refuse('not_found', { message: `${workflowName} has no version ${version}.` });
  }
}

const refusalOf = (outcome: Exclude<BatchOutcome, { readonly kind: 'started' }> | undefined, body: StartBody): Refusal => {
  invariant(outcome !== undefined, 'each start of a batch has an outcome');
  return outcome.kind === 'unavailable' ? refuse(outcome.kind) : notStarted(outcome, body);
};

/** The pointers of its errors begin at the body of the batch. */
function errorOfStart({ refused, details }: Refusal, index: number, correlationId: string): ErrorEnvelope {
  const errors = details?.errors?.map((error) => ({ ...error, pointer: `/runs/${index}${error.pointer}` }));
  return createErrorEnvelope(refused, correlationId, defined({ ...details, errors }));
}

/** A start that waited shows the end of its run, or that it has not ended. */
function startResponse(started: Extract<StartResult | AwaitedStart, { kind: 'started' }>) {
  const { runId, deploymentId } = started;
  if (!('progress' in started)) return { status: 202 as const, body: { runId, status: 'pending' as const, deploymentId } };
  const { progress, output } = started;
  if (!isTerminal(progress)) return { status: 202 as const, body: { runId, status: progress.status, deploymentId } };
  return {
    status: 200 as const,
    body: defined({
      runId,
      status: progress.status,
      deploymentId,
      completedAt: iso(progress.endedAt),
      ...outputOf(output),
      error: progress.status === 'failed' ? failureOf(progress.error) : undefined,
      cancelReason: progress.status === 'cancelled' ? progress.reason : undefined,
    }),
  };
}

/** Names a deployment that has the workflow and is not active, if there is one. */
const refuseUnknownWorkflow = ({ kind, inactive }: UnknownWorkflow): Refusal<typeof kind> =>
  inactive === undefined
    ? refuse(kind)
    : refuse(kind, {
        message: `No active workflow has that name. The inactive deployment ${inactive.deploymentId} of the app ${inactive.app} has it: activate that deployment, or start with its deploymentId.`,
      });

const refuseUnknownGraph = refuse('workflow_not_found', {
  message: 'No published graph has that name, and only graphs have numbered versions.',
});

const deadlinePassed: ErrorDetail = { pointer: '/deadlineAt', code: 'too_early', message: 'must be in the future' };

const resultNotKept = (step: string): ErrorDetail => ({
  pointer: `/results/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  code: 'not_a_kept_step',
  message: 'is not a step that began before the end of the step in fromNode',
});

const outputNotKept = (id: string): ErrorDetail => ({
  pointer: `/replace/${id}`,
  code: 'not_a_kept_node',
  message: 'is not a node that ended in the run and that the rerun from fromNode keeps',
});

const rolledBackMessage = (step: string): string =>
  `The run rolled back the step ${JSON.stringify(step)}: its result does not hold.`;

const tooManyValuesMessage = ({ values, limit }: { readonly values: number; readonly limit: number }): string =>
  `The rerun would copy ${values} large results, and at most ${limit} are copied.`;

/** Versions apply to runs of graphs, deployments and replaced results to runs of code. */
const notApplicable = (field: string): ErrorDetail => ({
  pointer: `/${field}`,
  code: 'not_of_this_run',
  message: 'does not apply to a run of this kind',
});

/**
 * Validates a start before any lookup. Against the clock it checks only upper bounds, because they still hold when the caller
 * repeats the request: an accepted start must get the same response again.
 */
const startRefusal = ({ specVersion, availableAt, deadlineAt, version, deploymentId }: StartBody, now: Instant) => {
  if (specVersion !== knownSpecVersion) return refuse('unsupported_spec_version');
  const latest = after(now, maxDeadline);
  const errors: ErrorDetail[] = [];
  if (availableAt !== undefined && availableAt > latest) {
    errors.push({ pointer: '/availableAt', code: 'too_late', message: 'must be within 365 days from now' });
  }
  if (deadlineAt !== undefined && deadlineAt > latest) {
    errors.push({ pointer: '/deadlineAt', code: 'too_late', message: 'must be within 365 days from now' });
  }
  if (availableAt !== undefined && deadlineAt !== undefined && deadlineAt <= availableAt) {
    errors.push({ pointer: '/deadlineAt', code: 'too_early', message: 'must be after availableAt' });
  }
  if (version !== undefined && deploymentId !== undefined) {
    errors.push({
      pointer: '/version',
      code: 'excluded',
      message: 'is for published graphs, and deploymentId for deployed code',
    });
  }
  return errors.length === 0 ? undefined : refuse('invalid_request', { errors: errors });
};
