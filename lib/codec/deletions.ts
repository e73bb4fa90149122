/** Records of workflow deletions as they are stored. */
import * as z from 'zod';
import { type FoundRun, type WorkflowDeletion, deletionPhases } from '../ports/deletions.ts';
import type { ListPosition } from '../ports/run-index.ts';
import { exactly } from './exact.ts';
import { environment, instant, keyId, projectId, runId, workflowName } from './ids.ts';

const position = exactly<ListPosition>()(z.strictObject({ createdAt: instant, runId: z.string() }));

export const storedDeletion = exactly<WorkflowDeletion>()(
  z.strictObject({
    projectId,
    environment,
    name: workflowName,
    throughVersion: z.int().min(1),
    requestedAt: instant,
    requestedBy: keyId.nullable(),
    phase: z.enum(deletionPhases),
    position: position.exactOptional(),
    after: runId.exactOptional(),
    runsFound: z.int().min(0),
    runsDeleted: z.int().min(0),
    freedAt: instant.exactOptional(),
    settledAt: instant.exactOptional(),
    revision: z.int().min(1),
  }),
);

export const foundRun = exactly<FoundRun>()(z.strictObject({ runId, expiresAt: instant, isRecent: z.boolean() }));
