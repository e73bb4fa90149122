/** The route that describes the installation. */
import type { DeployedSettings } from '../../../lib/api/schemas/installation.ts';
import type { Scope } from '../../../lib/engine/ids.ts';
import type { CommonTools, OperationTable } from '../operation.ts';

export interface InstallationTools extends CommonTools {
  readonly installation: {
    readonly region: string;
    readonly settings: () => Promise<DeployedSettings>;
  };
}

export const installationOperations: OperationTable<'getInstallation', InstallationTools> = {
  async getInstallation({ installation: { region, settings } }, { scope }) {
    const { version, limits, features, corsOrigins, models, secrets, databases, webhooks } = await settings();
    return {
      status: 200,
      body: {
        version,
        region,
        limits,
        features,
        names: {
          corsOrigins,
          models,
          secrets: ofScope(secrets, scope),
          databases: ofScope(databases, scope),
          webhooks: ofScope(webhooks, scope),
        },
      },
    };
  },
};

/** Names of another project are not for this caller. */
function ofScope(names: DeployedSettings['secrets'], { projectId, environment }: Scope): readonly string[] {
  const ofProject = Object.hasOwn(names, projectId) ? names[projectId] : undefined;
  return [environment, '*'].flatMap((each) =>
    ofProject !== undefined && Object.hasOwn(ofProject, each) ? (ofProject[each] ?? []) : [],
  );
}
