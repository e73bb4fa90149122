/** The creation record of a code or bundle run, as messages carry it to the code function. */
import * as z from 'zod';
import { type RunAddress, firstCommit } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { CodeCreation, BundleCreation } from '../engine/log/head.ts';
import type { Trace } from '../engine/trace.ts';
import { runEvent } from './events.ts';
import { exactly } from './exact.ts';
import { correlationId, deploymentId, environment, eventId, instant, nonce, projectId, runId, traceparent } from './ids.ts';

export const runAddress = exactly<RunAddress>()(z.strictObject({ projectId, environment, runId }));

export const trace = exactly<Trace>()(z.strictObject({ correlationId, traceparent }));

const commit = exactly<Commit>()(
  z.strictObject({
    number: z.literal(1).transform(() => firstCommit),
    firstEventId: eventId,
    events: z.array(runEvent).readonly(),
    at: instant,
    by: z.string(),
    nonce,
  }),
);

const commonFields = {
  address: runAddress,
  createdAt: instant,
  deadlineAt: instant,
  availableAt: instant.exactOptional(),
  expiresAt: instant,
  bodyHash: z.string(),
  trace: trace.exactOptional(),
  commit,
  deploymentId,
};

export const bundleCreation = exactly<BundleCreation>()(
  z.strictObject({ ...commonFields, kind: z.literal('bundle'), workflow: z.strictObject({ name: z.string() }) }),
);

export const codeCreation = exactly<CodeCreation>()(
  z.strictObject({
    ...commonFields,
    kind: z.literal('code'),
    workflow: z.strictObject({ name: z.string(), version: z.string().exactOptional() }),
  }),
);
