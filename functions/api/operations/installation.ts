/** The routes that describe the installation, and what it offers to the authors of workflows. */
import type { DeployedSettings } from '../../../lib/api/schemas/installation.ts';
import type { Scope } from '../../../lib/engine/ids.ts';
import type { CommonTools, OperationTable } from '../operation.ts';

export interface InstallationTools extends CommonTools {
  readonly installation: {
    readonly region: string;
    readonly settings: () => Promise<DeployedSettings>;
  };
}

export const installationOperations: OperationTable<'getInstallation' | 'getCatalogue', InstallationTools> = {
  async getInstallation({ installation: { region, settings } }, { scope }) {
    const { version, limits, features, choices, corsOrigins, models, secrets, databases, webhooks, triggers } = await settings();
    return {
      status: 200,
      body: {
        version,
        region,
        limits,
        features,
        choices,
        names: {
          corsOrigins,
          models,
          secrets: ofScope(secrets, scope),
          databases: ofScope(databases, scope),
          webhooks: ofScope(webhooks, scope),
          triggers: ofScope(triggers, scope),
        },
      },
    };
  },

  async getCatalogue({ installation: { settings } }, { scope }) {
    const { models, secrets, databases } = await settings();
    const body = { secrets: ofScope(secrets, scope), models, databases: ofScope(databases, scope) };
    return { status: 200, body };
  },
};

/** Names of another project are not for this caller. A name of the environment can also be one of all environments. */
function ofScope(names: DeployedSettings['secrets'], { projectId, environment }: Scope): readonly string[] {
  const ofProject = Object.hasOwn(names, projectId) ? names[projectId] : undefined;
  const found = [environment, '*'].flatMap((each) =>
    ofProject !== undefined && Object.hasOwn(ofProject, each) ? (ofProject[each] ?? []) : [],
  );
  return [...new Set(found)];
}
