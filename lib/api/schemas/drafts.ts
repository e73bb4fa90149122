/** Schemas for drafts of workflows. */
import * as z from 'zod';
import { jsonObject, payloadsHidden, utcTimestamp } from './parts.ts';
import { pinnedOutputs } from './run-control.ts';

const basedOn = z
  .int()
  .min(1)
  .nullable()
  .meta({ description: 'the version that the author started from; null: the workflow had none' });

const pinned = pinnedOutputs
  .exactOptional()
  .meta({ description: 'outputs of nodes that do not run in its tests, by id; absent: none' });

export const saveDraftBody = z
  .strictObject({
    definition: jsonObject.meta({ description: 'stored as it is; it need not be valid' }),
    revision: z.int().min(0).meta({ description: 'the revision that this change replaces; 0: there is no draft' }),
    basedOn,
    pinned,
  })
  .meta({ id: 'SaveDraft' });

export const draftResponse = z
  .strictObject({
    name: z.string(),
    revision: z.int().meta({ description: 'counts the changes of the draft; a deletion counts too' }),
    basedOn: z.int().nullable(),
    definition: jsonObject,
    pinned,
    updatedAt: utcTimestamp,
    updatedBy: z.string().meta({ description: 'key:<keyId>, or the subject of a session' }),
    ...payloadsHidden,
  })
  .meta({ id: 'Draft' });

export const deleteDraftQuery = z.strictObject({
  revision: z.coerce
    .number()
    .int()
    .min(1)
    .exactOptional()
    .meta({ description: 'the draft is deleted only if it has this revision' }),
});
export const deletedDraftResponse = z.strictObject({ name: z.string(), deleted: z.literal(true) });
