/** The example `devkit-next`, a Next.js server. */
import { vi } from 'vitest';
import { serverExample } from './server-example.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

serverExample({
  name: 'devkit-next',
  program: ['node_modules/next/dist/bin/next', 'start'],
  environment: { NEXT_TELEMETRY_DISABLED: '1' },
});
