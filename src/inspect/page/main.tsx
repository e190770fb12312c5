/** The inspector page. */
import { render } from 'preact';
import { Store } from './model/store.ts';
import './build.css';
import './styles.css';
import { App } from './view/app.tsx';

const store = new Store();
const root = document.getElementById('app');
if (root !== null) render(<App store={store} />, root);
store.start();
