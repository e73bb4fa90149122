/** The console's page: signs in by the link in the address, if it has one, and renders the shell. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { ApiError } from './api.ts';
import { App } from './shell/app.tsx';
import '@xyflow/react/dist/base.css';
import './operate/operate.css';
import './console.css';
import './editor/editor.css';
import './access/access.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal stays a refusal. Other failures are tried again three times.
      retry: (failures, error) =>
        failures < 3 && !(error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429),
      staleTime: 1_000,
    },
  },
});

const place = document.getElementById('console');
if (place === null) throw new Error('the page has no element for the console');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
