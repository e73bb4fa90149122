/** A deployment's manifest as it is stored. It is immutable; the API has validated its limits. */
import * as z from 'zod';
import { type Manifest, runtimes } from '../ports/deployments.ts';
import { appName, deploymentId } from './ids.ts';

const named = z.array(z.object({ name: z.string() }));
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const bytes = z.number().int().min(0);

export const storedManifest: z.ZodType<Manifest> = z.object({
  deploymentId,
  specVersion: z.literal(1),
  app: appName,
  runtime: z.enum(runtimes),
  workflows: z.array(
    z.object({ name: z.string(), version: z.string().exactOptional(), deadlineSeconds: z.number().exactOptional() }),
  ),
  steps: named,
  devkit: z
    .object({
      sdkVersion: z.string(),
      specVersion: z.number().int(),
      nodeVersion: z.string(),
      format: z.enum(['module', 'commonjs']),
      queueNamespace: z.string().exactOptional(),
    })
    .exactOptional(),
  files: z.array(z.object({ path: z.string(), sha256: digest, bytes })),
  artifact: z.object({ sha256: digest, bytes }),
});
