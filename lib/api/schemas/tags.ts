/** Schemas for the tags of a run. */
import * as z from 'zod';
import { tagNames, tagSeverities } from '../../engine/log/tags.ts';
import { eventLimit, jsonObject, utcTimestamp } from './parts.ts';

export const listTagsQuery = z.strictObject({
  after: z
    .string()
    .max(32)
    .exactOptional()
    .meta({ description: 'the id of the last event seen; only tags of later events are returned' }),
  limit: eventLimit,
});

export const tagList = z.strictObject({
  data: z
    .array(
      z
        .strictObject({
          tag: z.enum(tagNames),
          severity: z.enum(tagSeverities),
          nodeId: z.string().exactOptional().meta({ description: 'absent: the tag concerns the run' }),
          iteration: z.string().exactOptional(),
          eventId: z.int().meta({ description: 'the event that caused the tag' }),
          timestamp: utcTimestamp,
          metadata: jsonObject,
        })
        .meta({ id: 'RunTag' }),
    )
    .readonly(),
  cursor: z.string().meta({ description: 'pass it as `after` to continue, now or later' }),
  hasMore: z.boolean(),
});
