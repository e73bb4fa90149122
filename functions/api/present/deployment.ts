/** Deployments as answers show them. */
import { iso } from '../../../lib/engine/time.ts';
import type { Upload } from '../../../lib/ports/artifacts.ts';
import type { Activated } from '../../../lib/service/activate-deployment.ts';
import type { ShownDeployment } from '../../../lib/service/deployment-status.ts';
import { times } from './times.ts';

export const deploymentSummaryOf = ({ manifest, status, createdAt, createdBy, ...facts }: ShownDeployment) => ({
  deploymentId: manifest.deploymentId,
  status,
  createdAt: iso(createdAt),
  createdBy,
  ...times({ verifiedAt: facts.verifiedAt, activatedAt: facts.activatedAt, removingSince: facts.removingSince }),
  specVersion: manifest.specVersion,
  runtime: manifest.runtime,
  workflows: manifest.workflows,
  steps: manifest.steps,
  artifact: manifest.artifact,
});

export const deploymentOf = (deployment: ShownDeployment) => ({
  ...deploymentSummaryOf(deployment),
  files: deployment.manifest.files,
});

export const createdDeploymentOf = (
  { manifest, status, createdAt, verifiedAt }: ShownDeployment,
  upload: Upload | undefined,
) => ({
  deploymentId: manifest.deploymentId,
  status,
  createdAt: iso(createdAt),
  ...times({ verifiedAt }),
  ...(upload === undefined ? {} : { upload: { ...upload, headers: { ...upload.headers }, expiresAt: iso(upload.expiresAt) } }),
});

export const activatedOf = ({ deploymentId, activatedAt, previousDeploymentId, revision }: Activated) => ({
  deploymentId,
  status: 'active' as const,
  activatedAt: iso(activatedAt),
  previousDeploymentId,
  revision,
});
