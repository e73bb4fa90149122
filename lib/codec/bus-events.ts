/** Events on the event bus, with the schemas of docs/EVENTS.md. Members are only added, never removed. */
import * as z from 'zod';
import { appNamePattern, deploymentIdPattern, runIdPattern, scheduleIdPattern } from '../engine/ids.ts';
import { runStatuses } from '../engine/log/head.ts';
import { deploymentChanges } from '../ports/notices.ts';

const timestamp = z.iso.datetime({ precision: 3 });
const scope = { projectId: z.string(), environment: z.string() };
const deploymentId = z.string().regex(deploymentIdPattern);
const scheduleId = z.string().regex(scheduleIdPattern);

export const runStatusChange = {
  source: 'stepwell.runs',
  detailType: 'Run Status Change',
  detail: z.strictObject({
    ...scope,
    runId: z.string().regex(runIdPattern),
    workflow: z.strictObject({
      name: z.string(),
      version: z.int().min(1).exactOptional().meta({ description: 'for a graph; code has a deployment' }),
      codeVersion: z.string().exactOptional().meta({ description: 'for code that is replayed, if its author named one' }),
    }),
    deploymentId: deploymentId.exactOptional(),
    status: z.enum(runStatuses),
    scheduleId: scheduleId.exactOptional().meta({ description: 'the schedule that started it' }),
    correlationId: z.string().exactOptional().meta({ description: 'of the request that started the run' }),
    startedAt: timestamp,
    endedAt: timestamp.exactOptional(),
  }),
} as const;

export const deploymentActivated = {
  source: 'stepwell.deployments',
  detailType: 'Deployment Activated',
  detail: z.strictObject({
    ...scope,
    app: z.string().regex(appNamePattern).meta({ description: 'the project of code that the deployment belongs to' }),
    deploymentId,
    previousDeploymentId: deploymentId.nullable().meta({ description: 'the deployment of the app that was active before' }),
    revision: z.int().min(1).meta({ description: 'orders changes: a later change has a higher number' }),
    isRollback: z.literal(true).exactOptional().meta({ description: 'the activation is a rollback' }),
    activatedAt: timestamp,
  }),
} as const;

export const deploymentStatusChange = {
  source: 'stepwell.deployments',
  detailType: 'Deployment Status Change',
  detail: z.strictObject({ ...scope, deploymentId, change: z.enum(deploymentChanges), changedAt: timestamp }),
} as const;

export const scheduleFailure = {
  source: 'stepwell.schedules',
  detailType: 'Schedule Failure',
  detail: z.strictObject({
    ...scope,
    scheduleId,
    workflowName: z.string(),
    scheduledAt: timestamp.meta({ description: 'the due time' }),
    failedAt: timestamp,
    code: z.string().meta({ description: 'an error code of the start route, or missed, or lost' }),
    message: z.string(),
  }),
} as const;

export const busEvents = [runStatusChange, deploymentActivated, deploymentStatusChange, scheduleFailure] as const;
