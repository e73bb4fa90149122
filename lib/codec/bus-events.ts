/** What the event bus is told: sources, types and details. docs/EVENTS.md shows these schemas; members are only ever added. */
import * as z from 'zod';
import { deploymentIdPattern, runIdPattern, scheduleIdPattern } from '../engine/ids.ts';
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
      version: z.int().min(1).exactOptional().meta({ description: 'of a graph; code has a deployment' }),
      codeVersion: z.string().exactOptional().meta({ description: 'of code that is replayed, where its author named one' }),
    }),
    deploymentId: deploymentId.exactOptional(),
    status: z.enum(runStatuses),
    scheduleId: scheduleId.exactOptional().meta({ description: 'the schedule that started it' }),
    correlationId: z.string().exactOptional().meta({ description: 'of the request that asked for it' }),
    startedAt: timestamp,
    endedAt: timestamp.exactOptional(),
  }),
} as const;

export const deploymentActivated = {
  source: 'stepwell.deployments',
  detailType: 'Deployment Activated',
  detail: z.strictObject({
    ...scope,
    deploymentId,
    previousDeploymentId: deploymentId.nullable().meta({ description: 'active before, and inactive now' }),
    revision: z.int().min(1).meta({ description: 'tells an older change from a newer one' }),
    isRollback: z.literal(true).exactOptional().meta({ description: 'somebody went back to it' }),
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
    scheduledAt: timestamp.meta({ description: 'the time that was due' }),
    failedAt: timestamp,
    code: z.string().meta({ description: 'as a start would have been answered, or missed, or lost' }),
    message: z.string(),
  }),
} as const;

export const busEvents = [runStatusChange, deploymentActivated, deploymentStatusChange, scheduleFailure] as const;
