/** The editor of a workflow: it loads what is edited, and shows it. */
import type { ReactNode } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { workflowName, workflowNamePattern } from '../../engine/ids.ts';
import type { Session } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { EditorView } from './editor-view.tsx';
import { copyKey } from './local-copy.ts';
import { loadStored } from './stored.ts';

export function EditorPage({ name }: { readonly name: string }): ReactNode {
  const session = useQueryClient().getQueryData<Session>(['session']);
  const isName = workflowNamePattern.test(name);
  const stored = useQuery({
    queryKey: ['editor', name],
    queryFn: ({ signal }) => loadStored(workflowName(name), signal),
    enabled: isName,
    // The editor has its own copy from here on.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (!isName) return <ErrorText error={new Error('This is no name of a workflow.')} />;
  if (stored.data !== undefined) {
    const key = copyKey(`${session?.projectId ?? ''}/${session?.environment ?? ''}`, workflowName(name));
    return <EditorView name={workflowName(name)} stored={stored.data} copyKey={key} />;
  }
  return stored.error === null ? <Loading /> : <ErrorText error={stored.error} onRetry={() => void stored.refetch()} />;
}
