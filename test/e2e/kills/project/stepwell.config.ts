import { defineConfig } from 'stepwell/sdk';

export default defineConfig({ dirs: 'workflows' });
