/** Deployments as answers show them. */
import { defined } from '../../../lib/engine/defined.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { PresignedUpload } from '../../../lib/ports/artifacts.ts';
import type { Activated } from '../../../lib/service/deployments/activate-deployment.ts';
import type { DeploymentView } from '../../../lib/service/deployments/deployment-status.ts';
import { times } from './times.ts';

export const deploymentSummaryOf = ({ manifest, status, createdAt, createdBy, ...facts }: DeploymentView) => ({
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

export const deploymentOf = (deployment: DeploymentView) => ({
  ...deploymentSummaryOf(deployment),
  files: deployment.manifest.files,
});

export const createdDeploymentOf = (
  { manifest, status, createdAt, verifiedAt }: DeploymentView,
  upload: PresignedUpload | undefined,
) =>
  defined({
    deploymentId: manifest.deploymentId,
    status,
    createdAt: iso(createdAt),
    ...times({ verifiedAt }),
    upload: upload === undefined ? undefined : { ...upload, headers: { ...upload.headers }, expiresAt: iso(upload.expiresAt) },
  });

export const activatedOf = ({ deploymentId, activatedAt, previousDeploymentId, revision }: Activated) => ({
  deploymentId,
  status: 'active' as const,
  activatedAt: iso(activatedAt),
  previousDeploymentId,
  revision,
});
