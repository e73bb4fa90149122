/** A node on the canvas: its name and type, a row for each handle, and marks for findings, a pin, and the result of the last test. */
import { type ReactNode, memo, useEffect } from 'react';
import { Handle, type Node, type NodeProps, Position, useUpdateNodeInternals } from '@xyflow/react';
import { TypeIcon } from '../graph/type-icon.tsx';
import { Shape, toneOf } from '../primitives/status.tsx';

interface EditorNodeData extends Record<string, unknown> {
  readonly label: string;
  readonly nodeType: string;
  readonly handles: readonly string[];
  readonly hasInput: boolean;
  readonly isPinned: boolean;
  readonly isDisabled: boolean;
  readonly errors: number;
  readonly warnings: number;
  /** in the last test run; undefined: there was none, or it did not reach the node */
  readonly status: string | undefined;
}
export type EditorNodeShape = Node<EditorNodeData, 'editor'>;

const isMainOnly = (handles: readonly string[]): boolean => handles.length === 1 && handles[0] === 'output';

export const EditorNode = memo(({ id, data, selected }: NodeProps<EditorNodeShape>): ReactNode => {
  const { label, nodeType, handles, hasInput, isDisabled, errors, status } = data;
  const update = useUpdateNodeInternals();
  const names = handles.join(' ');
  useEffect(() => update(id), [update, id, names]);
  const tone = status === undefined ? '' : toneOf(status);
  return (
    <div
      className={`step editor-step ${errors > 0 ? 'has-errors' : tone} ${selected ? 'selected' : ''} ${isDisabled ? 'disabled' : ''}`}
    >
      {hasInput ? <Handle type="target" position={Position.Left} /> : null}
      <span className="step-shape">
        <TypeIcon type={nodeType} />
      </span>
      <span className="step-text">
        <b>
          <bdi>{label}</bdi>
        </b>
        <span className="dim">{isDisabled ? `${nodeType}, disabled` : nodeType}</span>
      </span>
      <Marks data={data} />
      {isMainOnly(handles) ? <Handle type="source" position={Position.Right} id="output" /> : <HandleRows handles={handles} />}
    </div>
  );
});
EditorNode.displayName = 'EditorNode';

const HandleRows = ({ handles }: { readonly handles: readonly string[] }): ReactNode =>
  handles.length === 0 ? null : (
    <span className="handle-rows">
      {handles.map((handle) => (
        <span key={handle} className={handle === 'error' ? 'handle-row error-row' : 'handle-row'}>
          <bdi>{handle}</bdi>
          <Handle type="source" position={Position.Right} id={handle} />
        </span>
      ))}
    </span>
  );

const Marks = ({ data: { isPinned, errors, warnings, status } }: { readonly data: EditorNodeData }): ReactNode => (
  <span className="marks" aria-hidden="true">
    {status === undefined ? null : <Shape status={status} />}
    {isPinned ? (
      <svg className="shape live" viewBox="0 0 16 16">
        <path d="M6 2h4l-.5 5 2.5 2.5H4L6.5 7zM8 9.5V14" />
      </svg>
    ) : null}
    {errors > 0 ? <span className="mark bad">{errors}</span> : null}
    {errors === 0 && warnings > 0 ? <span className="mark wait">{warnings}</span> : null}
  </span>
);
