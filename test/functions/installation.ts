/** An installation with settings of two projects. */
export const testInstallation = {
  region: 'eu-west-1',
  settings: async () => ({
    version: '1.2.3',
    limits: { retentionDays: 30, watchers: null },
    features: { metrics: true, traces: false },
    choices: { runEvents: 'failed' },
    corsOrigins: ['https://app.example.com'],
    models: ['fast'],
    secrets: { acme: { test: ['stripe'], '*': ['shared'], live: ['live-only'] }, other: { test: ['of-another'] } },
    databases: {},
    webhooks: { acme: { test: ['git'] } },
    triggers: { acme: { test: ['orders'] }, other: { test: ['hidden-trigger'] } },
  }),
};
