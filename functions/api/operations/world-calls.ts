/** The calls of the World of the Workflow DevKit, except those of its queue. */
import type { OperationOf } from '../../../lib/api/routes.ts';
import type { WorldPagination } from '../../../lib/api/schemas/world.ts';
import { type WorldEventParams, withParams } from '../../../lib/api/schemas/world-event.ts';
import { defined } from '../../../lib/base/defined.ts';
import { type Scope, runId as toRunId, runIdPattern } from '../../../lib/engine/ids.ts';
import * as events from '../../../lib/service/kinds/devkit/events-of-world.ts';
import * as streams from '../../../lib/service/kinds/devkit/streams.ts';
import { registerApp } from '../../../lib/service/kinds/devkit/register-app.ts';
import { resumeHook } from '../../../lib/service/kinds/devkit/resume-hook.ts';
import { createUpload } from '../../../lib/service/kinds/devkit/uploads.ts';
import type { World } from '../../../lib/service/kinds/devkit/world.ts';
import { answer, invalid, noRun, refused } from '../../../lib/service/kinds/devkit/world-error.ts';
import * as reads from '../../../lib/service/kinds/devkit/world-reads.ts';
import type { OperationTable, Tools } from '../operation.ts';
import { worldResponse } from './world-refusal.ts';

export type WorldTools = Tools<World>;

type WorldCall = Exclude<OperationOf<'world'>, 'publishMessage' | 'getWorldDeploymentId'>;

const pageOf = (pagination: WorldPagination) =>
  defined({
    limit: pagination?.limit ?? undefined,
    // The DevKit's command line sends an empty one for the first page.
    cursor: pagination?.cursor || undefined,
    sortOrder: pagination?.sortOrder ?? undefined,
  });

const paramsOf = (params: WorldEventParams) =>
  defined({
    resolveData: params?.resolveData ?? undefined,
    sinceCursor: params?.sinceCursor ?? undefined,
    eventCount: params?.eventCount ?? undefined,
    skipPreload: params?.skipPreload ?? undefined,
    preloadEvents: params?.preloadEvents ?? undefined,
  });

const dataOf = (resolveData: 'all' | 'none' | null | undefined): 'all' | 'none' => resolveData ?? 'all';

const streamOf = (scope: Scope, { runId, name }: { readonly runId?: string | null | undefined; readonly name: string }) =>
  defined({ scope, name, runId: runId ?? undefined });

export const worldCalls: OperationTable<WorldCall, WorldTools> = {
  async createWorldEvent({ decider: world }, { scope, body: { runId, data, params } }) {
    // A run without an id of its own gets one here.
    const id = runId ?? (data.event === 'run_created' ? world.deps.ids.runId(world.deps.clock.now()) : '');
    if (!runIdPattern.test(id)) return worldResponse(runId === null ? invalid('/runId', 'the event names no run') : noRun);
    const call = { run: { ...scope, runId: toRunId(id) }, request: withParams(data, params), params: paramsOf(params) };
    return worldResponse(await events.createWorldEvent(world, call));
  },

  async createWorldEventBatch({ decider: world }, { scope, body: { runId, events: batch, params } }) {
    if (!runIdPattern.test(runId)) return worldResponse(noRun);
    const requests = batch.map((each) => withParams(each.data, each.params));
    const run = { ...scope, runId: toRunId(runId) };
    return worldResponse(await events.createWorldBatch(world, { run, requests, resolveData: dataOf(params?.resolveData) }));
  },

  async listWorldEvents({ decider: world }, { scope, body: { runId, pagination, resolveData } }) {
    const list = (fold: events.Fold) => events.listEvents(world.deps, fold, pageOf(pagination), dataOf(resolveData));
    return worldResponse(await reads.onRun(world, scope, runId, list));
  },

  async listWorldEventsByCorrelation({ decider: world }, { scope, body: { runId, correlationId, pagination, resolveData } }) {
    // An id of a step is unique within its run only.
    if (runId === undefined || runId === null) return worldResponse(invalid('/runId', 'runId is required'));
    const list = (fold: events.Fold) =>
      events.listByCorrelation(world.deps, fold, correlationId, pageOf(pagination), dataOf(resolveData));
    return worldResponse(await reads.onRun(world, scope, runId, list));
  },

  async getWorldEvent({ decider: world }, { scope, body: { runId, eventId, resolveData } }) {
    const find = async (fold: events.Fold) => {
      const event = await events.findEvent(world.deps, fold, eventId, dataOf(resolveData));
      return event === undefined ? refused('event_not_found', `event ${eventId} does not exist`) : answer(event);
    };
    return worldResponse(await reads.onRun(world, scope, runId, find));
  },

  async listWorldRuns({ decider: world }, { scope, body: { workflowName, status, pagination, resolveData } }) {
    const statuses = status === undefined || status === null ? undefined : [status].flat();
    const filters = defined({ workflowName: workflowName ?? undefined, statuses });
    return worldResponse(await reads.listWorldRuns(world, scope, filters, pageOf(pagination), dataOf(resolveData)));
  },

  async getWorldRun({ decider: world }, { scope, params, query }) {
    return worldResponse(await reads.getRun(world, scope, params.runId, dataOf(query.resolveData)));
  },

  async listWorldSteps({ decider: world }, { scope, body: { runId, pagination, resolveData } }) {
    return worldResponse(await reads.listSteps(world, scope, runId, pageOf(pagination), dataOf(resolveData)));
  },

  async getWorldStep({ decider: world }, { scope, params, query }) {
    return worldResponse(await reads.getStep(world, scope, query.runId, params.stepId, dataOf(query.resolveData)));
  },

  async listWorldHooks({ decider: world }, { scope, body: { runId, pagination, resolveData } }) {
    return worldResponse(await reads.listHooks(world, scope, runId ?? undefined, pageOf(pagination), dataOf(resolveData)));
  },

  async getWorldHook({ decider: world }, { scope, params, query }) {
    return worldResponse(await reads.getHook(world, scope, params.hookId, dataOf(query.resolveData)));
  },

  async getWorldHookByToken({ decider: world }, { scope, params, query }) {
    const find = (token: string) => reads.getHookByToken(world, scope, token, dataOf(query.resolveData));
    const found = await find(params.token);
    const token = decoded(params.token);
    // Behind a greedy path of the gateway a parameter is as it was sent.
    return worldResponse(found.kind === 'refused' && token !== params.token ? await find(token) : found);
  },

  async resumeHook({ decider: world }, { scope, body: { token, payload = null }, idempotencyKey }) {
    const key = idempotencyKey === '' ? undefined : idempotencyKey;
    const result = await resumeHook(world, scope, defined({ token, payload, idempotencyKey: key }));
    if (result.kind === 'refused') return worldResponse(result);
    const { runId, hookId } = result.value;
    return { ...worldResponse(result), audit: { resource: `run/${runId}`, facts: { runId, hookId } } };
  },

  async writeWorldStream({ decider: { deps } }, { scope, body }) {
    return worldResponse(await streams.writeStream(deps, streamOf(scope, body), body.chunks));
  },

  async closeWorldStream({ decider: { deps } }, { scope, body }) {
    return worldResponse(await streams.closeStream(deps, streamOf(scope, body)));
  },

  async readWorldStreamChunks({ decider: { deps } }, { scope, body }) {
    const page = defined({ limit: body.limit ?? undefined, cursor: body.cursor ?? undefined });
    return worldResponse(await streams.readChunks(deps, streamOf(scope, body), page));
  },

  async getWorldStreamInfo({ decider: { deps } }, { scope, body }) {
    return worldResponse(await streams.streamInfo(deps, streamOf(scope, body)));
  },

  async readWorldStream({ decider: { deps } }, { scope, query }) {
    return worldResponse(await streams.readFrom(deps, streamOf(scope, query), query));
  },

  async listWorldStreams({ decider: { deps } }, { scope, query }) {
    return worldResponse(await streams.listStreams(deps, scope, query.runId));
  },

  async createWorldUpload({ decider: { deps } }, { scope, body }) {
    return worldResponse(await createUpload(deps, { scope, ...body }));
  },

  async getWorldEncryptionKey({ decider: world }, { scope, body }) {
    return worldResponse(await reads.encryptionKey(world, scope, body.runId));
  },

  async registerWorldApp({ decider: { deps, refuseAppAddress } }, { scope, body }) {
    const result = await registerApp(deps, scope, body, refuseAppAddress);
    const audit = { resource: `world/apps/${result.kind === 'answered' ? result.value.deploymentId : ''}` };
    return { ...worldResponse(result), audit };
  },
};

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // It is not encoded: a percent sign of the token.
    return part;
  }
}
