/** The example `devkit-nitro`, a Nitro server. */
import { vi } from 'vitest';
import { serverExample } from './server-example.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

serverExample({ name: 'devkit-nitro', program: ['.output/server/index.mjs'] });
