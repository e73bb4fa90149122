/** The setting `seedKeys`: API keys from the configuration. Synthesis and the function read it. It never contains a key's text. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';
import { environmentPattern, keyIdPattern, projectIdPattern } from '../../engine/ids.ts';
import { keyScopes } from '../../ports/control.ts';

const secretArn = z.string().regex(secretArnPattern, secretArnMessage);

const rateLimitPerMinute = z.union([z.int().min(1), z.literal('none')]);

const seedKey = z
  .strictObject({
    keyId: z.string().regex(keyIdPattern),
    projectId: z.string().regex(projectIdPattern),
    environment: z.string().regex(environmentPattern),
    scopes: z.array(z.enum(keyScopes)).min(1),
    /** a secret that contains the complete text of the key */
    secretArn: secretArn.exactOptional(),
    /** SHA-256 (hex) of the 43 characters of the key's secret */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')
      .exactOptional(),
    expiresAt: z.iso.datetime({ offset: true }).exactOptional(),
    rateLimitPerMinute: rateLimitPerMinute.exactOptional(),
  })
  .refine((key) => (key.secretArn === undefined) !== (key.sha256 === undefined), 'must have one of secretArn and sha256');

export type SeedKeySetting = z.output<typeof seedKey>;

/** Create further keys with the API, not in the template. */
export const maxSeedKeys = 50;

export const seedKeys = z
  .array(seedKey)
  .max(maxSeedKeys)
  .refine((keys) => new Set(keys.map(({ keyId }) => keyId)).size === keys.length, 'must contain each keyId once');

/** Keys that a deployment creates for applications, each in an own secret that is empty at first. */
export const applicationKeys = z.array(
  z.strictObject({ secretArn: z.string().min(1), scopes: z.array(z.enum(keyScopes)).min(1) }),
);
export type ApplicationKeySetting = z.output<typeof applicationKeys>[number];

export const firstKeySetting = z.strictObject({
  projectId: z.string().regex(projectIdPattern).default('default'),
  environment: z.string().regex(environmentPattern).default('production'),
  rateLimitPerMinute: rateLimitPerMinute.exactOptional(),
});
export type FirstKeySetting = z.output<typeof firstKeySetting>;
