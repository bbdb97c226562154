import { createContext } from 'preact';
import type { Visitor } from '../state.js';

/** What every component of a page may need to know of the page. */
export interface View {
  visitor: Visitor;
  /** The request's path, to mark where in the navigation one is. */
  path: string;
  formToken: string;
  /** A fresh mark for a form that may be sent once. */
  mark: () => string;
}

export const ViewContext = createContext<View>({
  visitor: undefined,
  path: '',
  formToken: '',
  mark: () => '',
});
