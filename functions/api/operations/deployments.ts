/** The deployment routes. A separate function serves them, which alone reads artifacts and signs uploads. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { cursorTime, deploymentId as deploymentIdSchema } from '../../../lib/api/schemas/parts.ts';
import { deploymentRoutes } from '../../../lib/api/deployment-routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { iso } from '../../../lib/engine/time.ts';
import {
  type Activated,
  activateDeployment,
  type ActivateResult,
  deactivateDeployment,
  rollbackDeployment,
  type TakenName,
  type WorkflowsInUse,
} from '../../../lib/service/deployments/activate-deployment.ts';
import { checkHealth } from '../../../lib/service/kinds/devkit/check-health.ts';
import { createDeployment, type CreateDeploymentResult } from '../../../lib/service/deployments/create-deployment.ts';
import type { DeploymentView } from '../../../lib/service/deployments/deployment-status.ts';
import {
  type ListedDeployment,
  activeDeployment,
  getDeployment,
  listApps,
  listDeployments,
} from '../../../lib/service/deployments/get-deployments.ts';
import { removeDeployment } from '../../../lib/service/deployments/remove-deployment.ts';
import { verifyDeployment } from '../../../lib/service/deployments/verify-deployment.ts';
import { type CommonTools, type Operations, type Served, type Refusal, refuse, times } from '../operation.ts';
import { refuseNoApp } from './refuse-no-app.ts';

type ArtifactRefusal = Extract<
  ActivateResult,
  { readonly kind: 'artifact_missing' | 'artifact_digest_mismatch' | 'artifact_invalid' }
>;

const cursorShape = z.strictObject({ createdAt: cursorTime, deploymentId: deploymentIdSchema });

const deploymentOperations: Operations<'deployments', CommonTools> = {
  async createDeployment({ decider: { deps } }, { scope, body: manifest, attachment, caller }) {
    const facts = { sha256: manifest.artifact.sha256, bytes: manifest.artifact.bytes };
    const audit = { resource: `deployment/${manifest.deploymentId}`, facts };
    const result = await createDeployment(deps, scope, manifest, { by: caller ?? null, archive: attachment });
    switch (result.kind) {
      case 'created':
      case 'existing': {
        const headers = { location: `/v1/deployments/${manifest.deploymentId}` };
        const created = createdDeploymentOf(result);
        return { status: result.kind === 'created' ? 201 : 200, body: created, headers, audit };
      }
      case 'deployment_exists':
        return { ...refuse(result.kind), audit };
      case 'artifact_digest_mismatch':
      case 'artifact_invalid':
        return { ...refuseArtifact(result), audit };
    }
  },

  async listDeployments({ decider: { deps } }, { scope, query: { cursor, limit } }) {
    const listing = { operationId: 'listDeployments', scope, filters: {} };
    const after = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await listDeployments(deps, scope, defined({ limit, after }));
    const next = found.next === undefined ? null : encodeCursor(listing, { ...found.next });
    return { status: 200, body: { data: found.deployments.map(listedDeploymentOf), cursor: next, hasMore: next !== null } };
  },

  async getActiveDeployment({ decider: { deps } }, { scope, query: { app } }) {
    const active = await activeDeployment(deps, scope, app);
    if (active.kind !== 'active') return refuseNoApp(active);
    const { deploymentId, at, revision } = active;
    return { status: 200, body: { app: active.app, deploymentId, activatedAt: iso(at), revision } };
  },

  async listApps({ decider: { deps } }, { scope }) {
    const data = (await listApps(deps, scope)).map(({ app, workflows, history: [{ deploymentId, at }] }) => ({
      app,
      deploymentId,
      activatedAt: iso(at),
      workflows,
    }));
    return { status: 200, body: { data, cursor: null, hasMore: false } };
  },

  async getDeployment({ decider: { deps } }, { scope, params: { deploymentId } }) {
    const deployment = await getDeployment(deps, scope, deploymentId);
    return deployment === undefined ? refuse('not_found') : { status: 200, body: deploymentOf(deployment) };
  },

  async checkDeploymentHealth({ decider: { deps } }, { scope, params: { deploymentId } }) {
    const health = await checkHealth(deps, scope, deploymentId);
    switch (health.kind) {
      case 'healthy': {
        const { latency: latencyMs, sdkVersion, specVersion } = health;
        return { status: 200, body: defined({ deploymentId, healthy: true, latencyMs, sdkVersion, specVersion }) };
      }
      case 'silent':
        return { status: 200, body: { deploymentId, healthy: false, latencyMs: health.waited } };
      case 'no_devkit':
        return refuse('invalid_request', { message: 'Only deployments of the runtime devkit answer health checks.' });
      case 'not_found':
      case 'deployment_not_verified':
        return refuse(health.kind);
    }
  },

  async activateDeployment({ decider: { deps } }, { scope, params: { deploymentId }, body: { allowRemoval }, caller }) {
    const change = { by: caller ?? null, allowsRemoval: allowRemoval };
    const result = await activateDeployment(deps, scope, deploymentId, change);
    return activationResponse(result, `deployment/${deploymentId}`);
  },

  async verifyDeployment({ decider: { deps } }, { scope, params: { deploymentId } }) {
    const audit = { resource: `deployment/${deploymentId}` };
    const result = await verifyDeployment(deps, scope, deploymentId);
    switch (result.kind) {
      case 'verified':
        return { status: 200, body: { deploymentId, verifiedAt: iso(result.verifiedAt) }, audit };
      case 'not_found':
        return { ...refuse(result.kind), audit };
      case 'artifact_missing':
      case 'artifact_digest_mismatch':
      case 'artifact_invalid':
        return { ...refuseArtifact(result), audit };
    }
  },

  async deactivateDeployment({ decider: { deps } }, { scope, params: { deploymentId }, body: { allowRemoval } }) {
    const audit = { resource: `deployment/${deploymentId}` };
    const result = await deactivateDeployment(deps, scope, deploymentId, { allowsRemoval: allowRemoval });
    switch (result.kind) {
      case 'deactivated': {
        const { app, revision } = result;
        const body = { app, deploymentId, status: 'inactive' as const, revision };
        return { status: 200, body, audit: { ...audit, facts: { app, revision } } };
      }
      case 'workflows_in_use':
        return { ...refuseInUse(result), audit };
      case 'not_found':
        return { ...refuse(result.kind), audit };
    }
  },

  async rollbackDeployment({ decider: { deps } }, { scope, body: { app, deploymentId, allowRemoval }, caller }) {
    const change = { by: caller ?? null, allowsRemoval: allowRemoval };
    const result = await rollbackDeployment(deps, scope, { app, deploymentId }, change);
    if (result.kind === 'no_previous_deployment') return { ...refuse(result.kind), audit: { resource: 'deployment' } };
    if (result.kind === 'app_required') return { ...refuseNoApp(result), audit: { resource: 'deployment' } };
    return activationResponse(result, deploymentId === undefined ? 'deployment' : `deployment/${deploymentId}`);
  },

  async removeDeployment({ decider: { deps } }, { scope, params: { deploymentId } }) {
    const audit = { resource: `deployment/${deploymentId}` };
    const result = await removeDeployment(deps, scope, deploymentId);
    switch (result.kind) {
      case 'removed':
        return { status: 200, body: { deploymentId, removedAt: iso(result.removedAt) }, audit };
      case 'deployment_in_use': {
        const message = `The run ${result.runId} has not ended and needs the deployment.`;
        return { ...refuse(result.kind, { message }), audit: { ...audit, facts: { runId: result.runId } } };
      }
      case 'not_found':
      case 'deployment_active':
        return { ...refuse(result.kind), audit };
    }
  },
};

export const servedByDeployments: Served<'deployments', CommonTools> = {
  routes: deploymentRoutes,
  operations: deploymentOperations,
};

const activationResponse = (result: ActivateResult, resource: string) => {
  switch (result.kind) {
    case 'activated': {
      const { app, deploymentId, revision, previousDeploymentId } = result;
      const audit = { resource: `deployment/${deploymentId}`, facts: { app, revision, previousDeploymentId } };
      return { status: 200 as const, body: activatedOf(result), audit };
    }
    case 'workflow_name_taken': {
      const message = `Workflows of the app ${result.app} have names that are taken: ${result.names.map(takenNameText).join(', ')}.`;
      return { ...refuse(result.kind, { message }), audit: { resource, facts: { names: result.names.map(({ name }) => name) } } };
    }
    case 'workflows_in_use':
      return { ...refuseInUse(result), audit: { resource } };
    case 'too_many_apps':
    case 'not_found':
      return { ...refuse(result.kind), audit: { resource } };
    case 'artifact_missing':
    case 'artifact_digest_mismatch':
    case 'artifact_invalid':
      return { ...refuseArtifact(result), audit: { resource } };
  }
};

const takenNameText = ({ name, app }: TakenName): string =>
  app === undefined ? `${name} (a published workflow)` : `${name} (the app ${app})`;

/** The pointer of an error in an archive is the path of the archive entry. */
const refuseArtifact = <Refused extends ArtifactRefusal>(refusal: Refused): Refusal<Refused['kind']> =>
  refusal.kind === 'artifact_invalid'
    ? refuse(refusal.kind, {
        errors: refusal.errors.map(({ code, message, path }) => ({ pointer: `artifact/${path ?? ''}`, code, message })),
      })
    : refuse(refusal.kind);

const refuseInUse = ({ kind, app, uses }: WorkflowsInUse): Refusal<'workflows_in_use'> =>
  refuse(kind, {
    message: `The change would remove workflows of the app ${app} that are in use: ${uses.map(({ workflow }) => workflow).join(', ')}.`,
    errors: uses.map(({ workflow, openRuns, schedules }) => ({
      pointer: `workflows/${workflow}`,
      code: kind,
      message: [
        ...(openRuns === 0
          ? []
          : [`${openRuns} open ${openRuns === 1 ? 'run ends' : 'runs end'} on ${openRuns === 1 ? 'its' : 'their'} deployment`]),
        ...schedules.map((id) => `the schedule ${id} would start nothing`),
      ].join('; '),
    })),
  });

const deploymentSummaryOf = ({ manifest, status, createdAt, createdBy, ...facts }: DeploymentView) => ({
  deploymentId: manifest.deploymentId,
  status,
  createdAt: iso(createdAt),
  createdBy,
  ...times({ verifiedAt: facts.verifiedAt, activatedAt: facts.activatedAt, removingSince: facts.removingSince }),
  specVersion: manifest.specVersion,
  app: manifest.app,
  runtime: manifest.runtime,
  workflows: manifest.workflows,
  steps: manifest.steps,
  ...(manifest.devkit === undefined ? {} : { devkit: manifest.devkit }),
  artifact: manifest.artifact,
});

const listedDeploymentOf = (deployment: ListedDeployment) => ({
  ...deploymentSummaryOf(deployment),
  openRuns: deployment.openRuns,
});

const deploymentOf = (deployment: DeploymentView) => ({
  ...deploymentSummaryOf(deployment),
  files: deployment.manifest.files,
});

const createdDeploymentOf = ({ deployment, upload }: Extract<CreateDeploymentResult, { kind: 'created' | 'existing' }>) =>
  defined({
    deploymentId: deployment.manifest.deploymentId,
    status: deployment.status,
    createdAt: iso(deployment.createdAt),
    ...times({ verifiedAt: deployment.verifiedAt }),
    upload: upload === undefined ? undefined : { ...upload, headers: { ...upload.headers }, expiresAt: iso(upload.expiresAt) },
  });

const activatedOf = ({ app, deploymentId, activatedAt, previousDeploymentId, revision }: Activated) => ({
  app,
  deploymentId,
  status: 'active' as const,
  activatedAt: iso(activatedAt),
  previousDeploymentId,
  revision,
});
