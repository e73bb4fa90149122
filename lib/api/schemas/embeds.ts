/** Schemas of embeds. */
import * as z from 'zod';
import { origin } from './cors-origins.ts';
import { workflowName, embedId, runId, utcTimestamp } from './parts.ts';

const maxEmbedOrigins = 5;
const daySeconds = 86_400;
const maxLifetimeSeconds = 365 * daySeconds;
const defaultLifetimeSeconds = 30 * daySeconds;

export const createEmbedBody = z
  .strictObject({
    runId: runId.exactOptional().meta({ description: 'shows this run' }),
    workflowName: workflowName.exactOptional().meta({ description: 'shows the newest run of this workflow' }),
    origins: z.array(origin).min(1).max(maxEmbedOrigins).meta({ description: 'complete origins of the pages that may show it' }),
    expiresInSeconds: z.int().min(60).max(maxLifetimeSeconds).default(defaultLifetimeSeconds),
  })
  .refine((body) => (body.runId === undefined) !== (body.workflowName === undefined), 'must have one of runId and workflowName')
  .meta({ id: 'CreateEmbed' });

export const embedParams = z.strictObject({ embedId });

const embedFields = {
  embedId: z.string(),
  runId: z.string().exactOptional(),
  workflowName: z.string().exactOptional(),
  origins: z.array(z.string()).readonly(),
  createdAt: utcTimestamp,
  expiresAt: utcTimestamp,
};

const embedSummary = z.strictObject(embedFields).meta({ id: 'Embed' });
export const createdEmbedResponse = z
  .strictObject({
    ...embedFields,
    path: z
      .string()
      .meta({ description: 'the address of the page below the API, with the token; only this response contains it' }),
  })
  .meta({ id: 'CreatedEmbed' });
export const embedList = z.strictObject({ data: z.array(embedSummary).readonly() });
export const revokedEmbedResponse = z.strictObject({ embedId: z.string(), revoked: z.literal(true) });
