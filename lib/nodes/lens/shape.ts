/**
 * Lens node: calls a model with a lens, which is a versioned prompt template with contracts. snake_case names of the lens document
 * are accepted too. Models are configuration, so validation does not check the model's name.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { lensNamePattern } from '../../engine/ids.ts';
import { seconds } from '../../engine/time.ts';
import type { NodeShape } from '../node-type.ts';
import type { NodeDefaults } from '../settings.ts';
import { jsonValue } from '../config-values.ts';

/** Defaults of the lens document: one attempt, and no retry of contract violations unless `retryOn` says so. */
export const lensDefaults = {
  retry: {
    attempts: 1,
    backoffMs: seconds(0.5),
    maxBackoffMs: seconds(8),
    retryOn: ['timeout', 'provider_error', 'rate_limit'],
    jitter: 'half',
  },
  timeoutMs: seconds(60),
  outputVariable: 'lensOutput',
} as const satisfies NodeDefaults;

const values = z.record(z.string().min(1).max(128), jsonValue);

const schema = z.object({
  lens: z.string().regex(lensNamePattern, 'must be the name of a lens'),
  /** absent: the latest version when the node runs; the output names it */
  version: z.int().min(1).optional(),
  /** absent: the lens's model, else `default` */
  model: z.string().min(1).max(64).optional(),
  /** parameters for the provider; they override those of the lens */
  params: values.default({}),
  /** values by label; they override values from edges. `[[nodeId.path]]` is the output of that node. */
  paramOverrides: values.optional(),
  param_overrides: values.optional(),
  moderation: z.enum(['off', 'input', 'output', 'both']).default('off'),
  attachments: z
    .array(
      z.object({
        kind: z.enum(['image', 'audio', 'document']),
        url: z.string().min(1).max(16_384),
        mimeType: z.string().max(256).optional(),
      }),
    )
    .max(20)
    .default([]),
});
export type LensConfig = z.output<typeof schema>;

export const lens: NodeShape<typeof schema> = {
  type: 'lens',
  defaults: lensDefaults,
  announcesStart: true,
  schema,
  handles: () => [mainHandle, errorHandle],
  check: ({ paramOverrides, param_overrides: older }) =>
    paramOverrides !== undefined && older !== undefined
      ? [{ code: 'config_invalid', path: ['param_overrides'], message: 'duplicates paramOverrides: set only one of them' }]
      : [],
};
