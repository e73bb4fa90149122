/** The state of the editor: the document with its history, and the findings about it, from the browser first and from the server after. */
import { useCallback, useEffect, useReducer, useState } from 'react';
import type { ResponseBody } from '../../client/route-types.ts';
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { api } from '../api.ts';
import type { EditorDocument } from './document.ts';
import { type PlacedFinding, placed, serverOnlyCodes } from './findings.ts';
import { type History, edited, historyOf, redone, undone } from './history.ts';
import { definitionJson } from './read-definition.ts';

type Command = (document: EditorDocument) => EditorDocument;

type Action =
  | { readonly kind: 'run'; readonly command: Command; readonly field: string | undefined; readonly at: number }
  | { readonly kind: 'undo' }
  | { readonly kind: 'redo' }
  | { readonly kind: 'open'; readonly document: EditorDocument };

export interface Editor {
  readonly document: EditorDocument;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  readonly findings: readonly PlacedFinding[];
  /** @param field edits of one field without a pause are one step of undo */
  readonly run: (command: Command, field?: string) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  /** replaces everything, without a step of undo */
  readonly open: (document: EditorDocument) => void;
}

function next(history: History, action: Action): History {
  switch (action.kind) {
    case 'undo':
      return undone(history);
    case 'redo':
      return redone(history);
    case 'open':
      return historyOf(action.document);
    case 'run': {
      const { command, field, at } = action;
      return edited(history, command(history.present), field === undefined ? undefined : { field, at });
    }
  }
}

export function useEditor(first: EditorDocument): Editor {
  const [history, dispatch] = useReducer(next, first, historyOf);
  const document = history.present;
  const run = useCallback((command: Command, field?: string) => dispatch({ kind: 'run', command, field, at: Date.now() }), []);
  const undo = useCallback(() => dispatch({ kind: 'undo' }), []);
  const redo = useCallback(() => dispatch({ kind: 'redo' }), []);
  const open = useCallback((given: EditorDocument) => dispatch({ kind: 'open', document: given }), []);
  return {
    document,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    findings: useFindings(document.definition),
    run,
    undo,
    redo,
    open,
  };
}

const browserMs = 200;
const serverMs = 1_000;

/** A finding of the server counts as long as the config of its node is the one that the server saw. */
interface ServerFindings {
  readonly definition: WorkflowDefinition;
  readonly findings: readonly PlacedFinding[];
}

type Received = ResponseBody<'validateWorkflow'>['findings'][number];
/** A severity that a newer server has is shown as a warning: an error would be one that this page knows. */
const known = ({ severity, ...finding }: Received): Finding => ({
  ...finding,
  severity: severity === 'error' ? 'error' : 'warning',
});

function useFindings(definition: WorkflowDefinition): readonly PlacedFinding[] {
  const [own, setOwn] = useState<readonly PlacedFinding[]>([]);
  const [server, setServer] = useState<ServerFindings | undefined>();
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      // The rules are loaded after the graph is shown.
      void import('./check.ts').then(({ check }) => {
        if (!isOver) setOwn(check(definition));
      });
    }, browserMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [definition]);
  useEffect(() => {
    if (definition.nodes.length === 0) return undefined;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      api.validate(definitionJson(definition), aborter.signal).then(
        ({ findings }) =>
          setServer({
            definition,
            findings: placed(findings.map(known), definition).filter(({ code }) => serverOnlyCodes.includes(code)),
          }),
        // The browser's own findings remain, and publishing checks again.
        () => {},
      );
    }, serverMs);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [definition]);
  return [...own, ...stillValid(server, definition)];
}

function stillValid(server: ServerFindings | undefined, { nodes }: WorkflowDefinition): readonly PlacedFinding[] {
  if (server === undefined) return [];
  const before = new Map(server.definition.nodes.map(({ id, config }) => [String(id), config]));
  return server.findings.filter(
    ({ nodeId }) => nodeId !== undefined && nodes.some(({ id, config }) => id === nodeId && before.get(nodeId) === config),
  );
}
