/** Keys of the editor: undo, redo, remove, copy and paste. They do nothing while one types in a field, where the browser has its own. */
import { type RefObject, useEffect } from 'react';
import { copied, pasted } from './clipboard.ts';
import * as commands from './commands.ts';
import type { Editor } from './use-editor.ts';

const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable="true"], dialog') !== null;

/** @param onRefused text on the clipboard has nodes that cannot be read */
export function useKeys(editor: RefObject<Editor>, onRefused: (error: unknown) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isField(event.target)) return;
      const { current } = editor;
      const key = event.key.toLowerCase();
      const isCommand = event.ctrlKey || event.metaKey;
      if (isCommand && key === 'z') (event.shiftKey ? current.redo : current.undo)();
      else if (isCommand && key === 'y') current.redo();
      else if (!isCommand && (key === 'delete' || key === 'backspace')) current.run(commands.removeSelection);
      else return;
      event.preventDefault();
    };
    const copy = (event: ClipboardEvent): void => {
      const { definition, selection } = editor.current.document;
      if (isField(event.target) || selection.nodes.length === 0 || getSelection()?.isCollapsed === false) return;
      event.clipboardData?.setData('text/plain', copied(definition, selection.nodes));
      event.preventDefault();
    };
    const paste = (event: ClipboardEvent): void => {
      if (isField(event.target)) return;
      const text = event.clipboardData?.getData('text/plain') ?? '';
      try {
        const next = pasted(editor.current.document, text);
        if (next !== editor.current.document) editor.current.run(() => next);
      } catch (error) {
        onRefused(error);
      }
    };
    document.addEventListener('keydown', press);
    document.addEventListener('copy', copy);
    document.addEventListener('paste', paste);
    return () => {
      document.removeEventListener('keydown', press);
      document.removeEventListener('copy', copy);
      document.removeEventListener('paste', paste);
    };
  }, [editor, onRefused]);
}
