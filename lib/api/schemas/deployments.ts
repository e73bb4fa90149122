/** Schemas of deployments, and of the routes for their code. */
import * as z from 'zod';
import { findPathError, archiveLimits } from '../../artifact/archive-rules.ts';
import { anyWorkflowNamePattern, devKitNamePattern, workflowNamePattern } from '../../engine/ids.ts';
import { maxDeadline } from '../../engine/log/head.ts';
import { defaultApp, runtimes } from '../../ports/deployments.ts';
import type { ErrorCode, ErrorDetail } from '../errors.ts';
import { appName, cursor, deploymentId, limit, page, utcTimestamp, pageSize, queueNamespace } from './parts.ts';

/** Maximum size of a manifest, and of a form with its artifact. The function receives the form in base64. */
export const manifestLimitBytes = 262_144;
export const formLimitBytes = 4_194_304;
export const maxWorkflows = 100;
export const maxSteps = 1_000;

/** Path segments of other routes below `/v1/deployments`. */
const reservedDeploymentIds: readonly string[] = ['active', 'rollback'];

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');
const path = z.string().superRefine((text, context) => {
  const problem = findPathError(text, archiveLimits);
  const tooLongMessage = `must have at most ${archiveLimits.pathBytes} bytes`;
  const unsafeMessage = 'must be relative, with forward slashes and without "." and ".."';
  if (problem !== undefined)
    context.addIssue({ code: 'custom', message: problem === 'path_too_long' ? tooLongMessage : unsafeMessage });
});

/** The version that the author declared. */
const workflowVersionPattern = /^\P{Cc}{1,128}$/u;

const areDistinct = (names: readonly string[]): boolean => new Set(names).size === names.length;
const duplicateMessage = 'must not contain a name twice';
const namesOf = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);

const deadlineSeconds = z
  .int()
  .min(1)
  .max(maxDeadline / 1_000)
  .exactOptional()
  .meta({
    description:
      'only for `code`: the deadline that its author declared. Without one, runs have 7 days, in which waits do not count.',
  });
const nameMessage = `must be a workflow name: ${workflowNamePattern.source}`;

const workflow = z.strictObject({
  name: z.string().regex(anyWorkflowNamePattern, nameMessage),
  version: z
    .string()
    .regex(workflowVersionPattern, 'must be 1 to 128 characters without control characters')
    .exactOptional()
    .meta({ description: 'only for `code`. New runs use the last listed version of a name.' }),
  deadlineSeconds,
});
const devkit = z
  .strictObject({
    sdkVersion: z.string().regex(/^\d{1,4}\.\d{1,4}\.\d{1,4}[\w.+-]{0,40}$/, 'must be a version of the package workflow'),
    specVersion: z.int().min(1).max(99),
    nodeVersion: z.string().regex(/^\d{1,3}(\.\d{1,4}){0,2}$/, 'must be a version of Node'),
    format: z.enum(['module', 'commonjs']),
    queueNamespace: queueNamespace.exactOptional(),
  })
  .exactOptional()
  .meta({ description: 'only and always for `devkit`: what the app is built with' });
/** In answers: a later version of the API may know other forms. */
const builtWith = z
  .strictObject({
    sdkVersion: z.string(),
    specVersion: z.int(),
    nodeVersion: z.string(),
    format: z.enum(['module', 'commonjs']),
    queueNamespace: z.string().exactOptional(),
  })
  .exactOptional()
  .meta({ description: 'only for `devkit`: what the app is built with' });
const step = z.strictObject({
  name: z.string().regex(/^[\w./@:-]{1,256}$/, 'must be 1 to 256 letters, digits or one of _./@:-'),
});
const file = z.strictObject({ path, sha256, bytes: z.int().min(0).max(archiveLimits.unpackedBytes) });

/** Checks each field; `createDeploymentBody` also checks how the fields fit together. */
export const manifestParts = z.strictObject({
  deploymentId: deploymentId.refine((id) => !reservedDeploymentIds.includes(id), 'is reserved by a route of this API'),
  specVersion: z.literal(1),
  app: appName.default(defaultApp).meta({
    description:
      'the project of code that the artifact comes from. Deployments of one app replace each other; no two apps have a workflow of the same name',
  }),
  runtime: z.enum(runtimes).meta({
    description:
      '`bundle`: bundles that export POST(Request) → Response. `code`: the module workflows.mjs, which exports `workflows`. `devkit`: the bundles of the Workflow DevKit.',
  }),
  workflows: z.array(workflow).max(maxWorkflows),
  devkit,
  steps: z
    .array(step)
    .max(maxSteps)
    .refine((rows) => areDistinct(namesOf(rows)), duplicateMessage)
    .default([]),
  files: z
    .array(file)
    .min(1)
    .max(archiveLimits.entries)
    .refine((rows) => areDistinct(rows.map((row) => row.path)), duplicateMessage),
  artifact: z.strictObject({ sha256, bytes: z.int().min(1).max(archiveLimits.archiveBytes) }),
});

type ManifestParts = z.output<typeof manifestParts>;

interface ManifestProblem {
  readonly path: PropertyKey[];
  readonly message: string;
}

/** Code can have several versions of a workflow and lists no steps. Bundles have no versions and distinct names. */
const findManifestProblem = (parts: ManifestParts): ManifestProblem | undefined => {
  const { runtime, workflows, steps, devkit: build } = parts;
  const isDevKit = runtime === 'devkit';
  if (isDevKit !== (build !== undefined))
    return {
      path: ['devkit'],
      message: isDevKit ? 'is required for the runtime devkit' : 'is allowed only for the runtime devkit',
    };
  const [pattern, message] = isDevKit
    ? [devKitNamePattern, 'must be an id such as workflow//./a//b']
    : [workflowNamePattern, nameMessage];
  const misnamed = workflows.findIndex(({ name }) => anyWorkflowNamePattern.test(name) && !pattern.test(name));
  if (misnamed >= 0) return { path: ['workflows', misnamed, 'name'], message };
  if (runtime === 'code') {
    if (steps.length > 0) return { path: ['steps'], message: 'must be empty: code declares its steps at run time' };
    const names = workflows.map(({ name, version }) => JSON.stringify([name, version]));
    return areDistinct(names) ? undefined : { path: ['workflows'], message: 'must not contain a name and version twice' };
  }
  const versioned = workflows.findIndex(({ version }) => version !== undefined);
  if (versioned >= 0) return { path: ['workflows', versioned, 'version'], message: 'is allowed only for the runtime code' };
  const limited = workflows.findIndex((each) => each.deadlineSeconds !== undefined);
  if (limited >= 0) return { path: ['workflows', limited, 'deadlineSeconds'], message: 'is allowed only for the runtime code' };
  return areDistinct(namesOf(workflows)) ? undefined : { path: ['workflows'], message: duplicateMessage };
};

export const createDeploymentBody = manifestParts
  .superRefine((parts, context) => {
    const problem = findManifestProblem(parts);
    if (problem !== undefined) context.addIssue({ code: 'custom', ...problem });
  })
  .meta({ id: 'Manifest' });

/** A body that is not a JSON object is an invalid request, not an invalid manifest. */
export const manifestErrorCode = (details: readonly ErrorDetail[]): ErrorCode => {
  if (details.some(({ pointer }) => pointer === '')) return 'invalid_request';
  return details.some(({ pointer, code }) => pointer === '/deploymentId' && code !== 'custom')
    ? 'invalid_deployment_id'
    : 'invalid_manifest';
};

export const deploymentParams = z.strictObject({ deploymentId });

export const healthOfDeployment = z.strictObject({
  deploymentId: z.string(),
  healthy: z.boolean().meta({ description: 'false: no answer came within 20 seconds' }),
  latencyMs: z.int().meta({ description: 'how long the answer took, or how long the request waited for one' }),
  sdkVersion: z.string().exactOptional().meta({ description: 'of the SDK that answered' }),
  specVersion: z.int().exactOptional(),
});
export const listDeploymentsQuery = z.strictObject({ limit: limit.default(pageSize.standard), cursor: cursor.exactOptional() });

const allowRemoval = z.boolean().default(false).meta({
  description: 'true: the change also removes workflows that open runs or schedules use; false: it fails with `workflows_in_use`',
});
export const activateBody = z.strictObject({ allowRemoval }).meta({ id: 'Activate' });
export const deactivateBody = z.strictObject({ allowRemoval }).meta({ id: 'Deactivate' });
export const rollbackBody = z
  .strictObject({
    app: appName.exactOptional().meta({ description: 'required if several apps are active and the body names no deployment' }),
    deploymentId: deploymentId.exactOptional(),
    allowRemoval,
  })
  .meta({ id: 'Rollback' });

const status = z.enum(['created', 'active', 'inactive']);
const upload = z
  .strictObject({
    method: z.literal('PUT'),
    url: z.string(),
    headers: z.record(z.string(), z.string()).meta({ description: 'send these headers unchanged' }),
    expiresAt: utcTimestamp,
  })
  .meta({ id: 'Upload' });

export const createdDeploymentResponse = z.strictObject({
  deploymentId: z.string(),
  status,
  createdAt: utcTimestamp,
  verifiedAt: utcTimestamp.exactOptional(),
  upload: upload.exactOptional().meta({ description: 'absent if the correct artifact is uploaded already' }),
});

const names = z.array(z.strictObject({ name: z.string() })).readonly();
const versionedNames = z
  .array(z.strictObject({ name: z.string(), version: z.string().exactOptional(), deadlineSeconds: z.int().exactOptional() }))
  .readonly();
const deploymentSummaryFields = {
  deploymentId: z.string(),
  status,
  createdAt: utcTimestamp,
  createdBy: z.string().nullable().meta({ description: 'the id of the key' }),
  verifiedAt: utcTimestamp.exactOptional(),
  activatedAt: utcTimestamp.exactOptional(),
  removingSince: utcTimestamp.exactOptional().meta({ description: 'the removal has started and is not complete' }),
  specVersion: z.int(),
  app: z.string(),
  runtime: z.string(),
  workflows: versionedNames,
  steps: names,
  devkit: builtWith,
  artifact: z.strictObject({ sha256: z.string(), bytes: z.int() }),
};
export const deploymentList = page(
  z
    .strictObject({
      ...deploymentSummaryFields,
      openRuns: z.int().meta({ description: 'the open runs that the deployment executes, counted up to 100' }),
    })
    .meta({ id: 'DeploymentSummary' }),
);
export const deploymentResponse = z
  .strictObject({
    ...deploymentSummaryFields,
    files: z.array(z.strictObject({ path: z.string(), sha256: z.string(), bytes: z.int() })).readonly(),
  })
  .meta({ id: 'Deployment' });

const revision = z.int().meta({ description: 'number of changes of the active deployments of all apps' });
const activeFields = { app: z.string(), deploymentId: z.string(), activatedAt: utcTimestamp };
export const activeDeploymentResponse = z.strictObject({ ...activeFields, revision });
export const appList = page(
  z
    .strictObject({
      ...activeFields,
      workflows: z.array(z.string()).readonly().meta({ description: 'the workflows of the active deployment' }),
    })
    .meta({ id: 'App' }),
);
export const deactivatedResponse = z.strictObject({
  app: z.string(),
  deploymentId: z.string(),
  status: z.literal('inactive'),
  revision,
});
export const activatedResponse = z.strictObject({
  app: z.string(),
  deploymentId: z.string(),
  status: z.literal('active'),
  activatedAt: utcTimestamp,
  previousDeploymentId: z.string().nullable(),
  revision,
});
export const verifiedDeploymentResponse = z.strictObject({ deploymentId: z.string(), verifiedAt: utcTimestamp });
export const removedDeploymentResponse = z.strictObject({ deploymentId: z.string(), removedAt: utcTimestamp });
