import { defineConfig } from 'nitro';

export default defineConfig({
  serverDir: '.',
  modules: ['workflow/nitro'],
  plugins: ['./instrumentation.ts'],
});
