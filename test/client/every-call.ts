/** One client call for each route, and a response that matches its schema. A missing call does not compile. */
import * as z from 'zod';
import { type OperationOf, routes } from '../../lib/api/routes.ts';
import type { Route } from '../../lib/api/route.ts';
import type { StepwellClient } from '../../lib/client/index.ts';

const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
const sha256 = '0'.repeat(64);
const manifest: Parameters<StepwellClient['createDeployment']>[0] = {
  deploymentId: 'one',
  specVersion: 1,
  runtime: 'bundle',
  workflows: [],
  files: [{ path: 'flow.js', sha256, bytes: 1 }],
  artifact: { sha256, bytes: 1 },
};

/** Calls of the Workflow DevKit's World: its package makes them, and the client has none for them. */
type WorldCall = Exclude<OperationOf<'world'>, 'publishMessage' | 'getWorldDeploymentId' | 'listWorldHooks' | 'resumeHook'>;
/** The page at which a browser signs in asks for the identity provider. */
type BrowserCall = 'getSignInProvider';
/** Webhooks are sent by their providers, and sessions belong to browsers, so the client has no call for them. */
type ClientRoute = Exclude<
  (typeof routes)[number],
  | { readonly scope: null; readonly action: string }
  | { readonly credential: 'session' }
  | { readonly operationId: WorldCall | BrowserCall }
>;
export type ClientOperation = ClientRoute['operationId'];
export type ClientMutation = Extract<ClientRoute, { action: string }>['operationId'];

export const calls: Readonly<Record<ClientOperation, (client: StepwellClient) => Promise<unknown>>> = {
  getHealth: (client) => client.health(),
  getOpenApi: (client) => client.openApi(),
  createWorkflow: (client) => client.createWorkflow({ name: 'flow', nodes: [] }),
  listWorkflows: (client) => client.listWorkflows(),
  validateWorkflow: (client) => client.validateWorkflow({ nodes: [] }),
  getWorkflow: (client) => client.getWorkflow('flow'),
  archiveWorkflow: (client) => client.archiveWorkflow('flow'),
  deleteWorkflow: (client) => client.deleteWorkflow('flow', { confirm: 'flow' }),
  publishVersion: (client) => client.publishVersion('flow', { nodes: [] }),
  listVersions: (client) => client.listVersions('flow'),
  getDraft: (client) => client.getDraft('flow'),
  saveDraft: (client) => client.saveDraft('flow', { definition: {}, revision: 0, basedOn: null }),
  deleteDraft: (client) => client.deleteDraft('flow'),
  createQuery: (client) => client.queries.create({ name: 'find', kind: 'postgres', connection: 'db', statement: 'select 1' }),
  listQueries: (client) => client.queries.list(),
  getQuery: (client) => client.queries.get('find'),
  publishQueryVersion: (client) =>
    client.queries.publish('find', { kind: 'http', connection: 'https://example.com', request: {} }),
  archiveQuery: (client) => client.queries.archive('find'),
  startRun: (client) => client.trigger({ workflowName: 'flow' }),
  startRunBatch: (client) => client.triggerBatch([{ workflowName: 'flow' }]),
  listRuns: (client) => client.listRuns(),
  getRun: (client) => client.getRun(runId),
  getRunDefinition: (client) => client.getRunDefinition(runId),
  getRunNode: (client) => client.getRunNode(runId, 'start'),
  getRunTimeline: (client) => client.getRunTimeline(runId),
  listRunEvents: (client) => client.listRunEvents(runId),
  createTicket: (client) => client.createTicket(runId),
  listRunTags: (client) => client.listRunTags(runId),
  cancelRun: (client) => client.cancelRun(runId),
  resumeRun: (client) => client.resumeRun({ runId }),
  rerunRun: (client) => client.rerunRun(runId),
  wakeRun: (client) => client.wakeRun(runId),
  sendSignal: (client) => client.sendSignal({ name: 'paid', correlation: 'order-1' }),
  sendRunSignal: (client) => client.sendRunSignal(runId, { name: 'paid' }),
  createLens: (client) => client.lenses.create({ name: 'tone', template: '[[text]]' }),
  listLenses: (client) => client.lenses.list(),
  getLens: (client) => client.lenses.get('tone'),
  archiveLens: (client) => client.lenses.archive('tone'),
  publishLens: (client) => client.lenses.publish('tone', { template: '[[text]]' }),
  createSchedule: (client) => client.schedules.create({ scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' }),
  listSchedules: (client) => client.schedules.list(),
  getSchedule: (client) => client.schedules.get('nightly'),
  updateSchedule: (client) => client.schedules.update('nightly', { rate: '2 days' }),
  pauseSchedule: (client) => client.schedules.pause('nightly'),
  resumeSchedule: (client) => client.schedules.resume('nightly'),
  deleteSchedule: (client) => client.schedules.delete('nightly'),
  testWorkflow: (client) => client.testWorkflow({ nodes: [] }),
  stopTestRun: (client) => client.stopTestRun(runId),
  viewRun: (client) => client.viewRun(runId, { config: {} }),
  createDeployment: (client) => client.createDeployment(manifest),
  listDeployments: (client) => client.listDeployments(),
  getActiveDeployment: (client) => client.getActiveDeployment(),
  listApps: (client) => client.listApps(),
  rollbackDeployment: (client) => client.rollbackDeployment(),
  getDeployment: (client) => client.getDeployment('one'),
  checkDeploymentHealth: (client) => client.checkDeploymentHealth('one'),
  verifyDeployment: (client) => client.verifyDeployment('one'),
  activateDeployment: (client) => client.activateDeployment('one'),
  deactivateDeployment: (client) => client.deactivateDeployment('one'),
  removeDeployment: (client) => client.removeDeployment('one'),
  publishMessage: (client) => client.publish('__wkf_workflow_flow', { runId }),
  getWorldDeploymentId: (client) => client.getWorldDeploymentId(),
  listWorldHooks: (client) => client.listWorldHooks({ runId }),
  resumeHook: (client) => client.resumeHook({ token: 'approve:tea' }),
  createKey: (client) => client.createKey({ scopes: ['admin'] }),
  listKeys: (client) => client.listKeys(),
  revokeKey: (client) => client.revokeKey('12345678'),
  rotateKey: (client) => client.rotateKey('12345678'),
  createSessionLink: (client) => client.createSessionLink(),
  createEmbed: (client) => client.createEmbed({ runId, origins: ['https://a.example'], expiresInSeconds: 60 }),
  listEmbeds: (client) => client.listEmbeds(),
  revokeEmbed: (client) => client.revokeEmbed('emb_0123456789012345678901'),
  getInstallation: (client) => client.getInstallation(),
  getCatalogue: (client) => client.getCatalogue(),
  listAudit: (client) => client.listAudit(),
};

type CalledRoute = Route & { readonly operationId: ClientOperation };
const ofTheClient: ReadonlySet<string> = new Set(['publishMessage', 'getWorldDeploymentId', 'listWorldHooks', 'resumeHook']);
const hasClientCall = (route: Route): route is CalledRoute =>
  (route.scope !== null || route.action === undefined) &&
  route.operationId !== 'getSignInProvider' &&
  route.credential !== 'session' &&
  (route.servedBy !== 'world' || ofTheClient.has(route.operationId));
const callsByRoute: readonly Route[] = routes;
export const allRoutes: readonly CalledRoute[] = callsByRoute.filter(hasClientCall);

/** The response to the call of a route. A start is called without a wait, so it is the last one that it declares. */
export const answerOf = ({ responses }: Route): { readonly status: number; readonly schema: z.ZodType } => {
  const last = Object.entries(responses).at(-1);
  if (last === undefined) throw new Error('a route without an answer');
  return { status: Number(last[0]), schema: last[1].schema };
};

/** A sample value: every field, and one row in each list. */
export const sampleOf = (schema: z.core.$ZodType): unknown => {
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(Object.entries(schema.shape).map(([key, part]) => [key, sampleOf(part)]));
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly)
    return sampleOf(schema.def.innerType);
  if (schema instanceof z.ZodArray) return [sampleOf(schema.def.element)];
  if (schema instanceof z.ZodTuple) return schema.def.items.map(sampleOf);
  if (schema instanceof z.ZodRecord) return { some: sampleOf(schema.def.valueType) };
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodLiteral) return schema.def.values[0];
  if (schema instanceof z.ZodString) return 'text';
  if (schema instanceof z.ZodNumber) return 1;
  if (schema instanceof z.ZodBoolean) return false;
  return {};
};

/** Each required path of a schema, with its value. */
export const requiredPathsOf = (
  schema: z.core.$ZodType,
  path: readonly (string | number)[] = [],
): readonly { readonly path: readonly (string | number)[]; readonly schema: z.core.$ZodType }[] => {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, part]: [string, z.core.$ZodType]) => {
      const otherCallers = [...path, key];
      return part instanceof z.ZodExactOptional
        ? requiredPathsOf(part.def.innerType, otherCallers)
        : [{ path: otherCallers, schema: part }, ...requiredPathsOf(part, otherCallers)];
    });
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) return requiredPathsOf(schema.def.innerType, path);
  if (schema instanceof z.ZodArray) return requiredPathsOf(schema.def.element, [...path, 0]);
  return [];
};
