// Written by generate.mjs from /openapi.json and /asyncapi.json. Do not edit.
export interface paths {
    "/v1/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the apps
         * @description The admin's alone.
         */
        get: operations["listApps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an app
         * @description Credentials read as ***.
         */
        get: operations["getApp"];
        /**
         * Create or replace an app
         * @description Replaces the whole app: fields that are left out are removed. Only the admin creates an app. A key of scope app replaces its own. ?dryRun=true compares and stores nothing. An app without a module or source that tools name is refused with 409, unless ?force=true. To change a part of it, PATCH it. A model in settings.llm.tools that the service cannot ask is an error, unless Prefer is handling=lenient. Then messages are answered 502 until it can.
         */
        put: operations["putApp"];
        post?: never;
        /**
         * Delete an app with everything in it
         * @description Its repositories, keys, sessions and triggers go with it. The admin's alone.
         */
        delete: operations["deleteApp"];
        options?: never;
        head?: never;
        /**
         * Change an app
         * @description A JSON merge patch: only the named fields change, and no concurrent patch is lost. null removes a field, so that its default applies. settings.limits null means the default limits, and 0 removes a single limit. Objects are merged, and lists such as modules are replaced whole. *** in them keeps a credential. It does not create an app.
         */
        patch: operations["patchApp"];
        trace?: never;
    };
    "/v1/apps/{appId}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List who did what to an app
         * @description Who confirmed, denied, cancelled, retried, purged and erased, made and revoked keys, and changed the app and its tools, newest first. It includes what users said, and MCP, NATS and the console. No entry holds a text, a value, a credential or a user.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/backlog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count what an app has to do
         * @description How many triggers are pending and have failed, how old the oldest are, and what they wait for.
         */
        get: operations["getBacklog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the events of an app
         * @description All events of the app. id is the stream's sequence, event the subject's first two words, data the payload. The first id comes before any event. A client that reads too slowly is disconnected, and continues with Last-Event-ID. token.expiring comes a minute before the key or token ends, or at once if less is left, and says when. When it has ended, token.expired comes, and the stream ends within a second. These two have no id: open the stream again with a new token and the same lastEventId.
         */
        get: operations["followApp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys of an app
         * @description With what they are good for and when they were last used; never the keys themselves.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Make a key of an app
         * @description Only this answer contains the key: it is stored as a hash. A key that another key makes ends with that key, at the latest when it expires. It cannot have scopes that the other key lacks.
         */
        post: operations["postKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key, the keys it made, and all their session tokens
         * @description When the answer is there, no replica takes the key any more.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/rehearsals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show what a change of tools would do
         * @description Tries the last messages of users and the tests, with the present tools and with the changed ones. Nothing is stored, fired or called. The rule-based matcher decides, unless model is given. With a model at most 50 messages are tried, and they count towards the limits of the app.
         */
        post: operations["rehearse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/repositories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the repositories of an app
         * @description Without those of its sessions.
         */
        get: operations["listAppRepositories"];
        put?: never;
        /**
         * Create a repository of an app under a generated id
         * @description The id is in the answer and in Location.
         */
        post: operations["postAppRepository"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/repositories/{repositoryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a repository of an app
         * @description As it was put, credentials as ***, with its times.
         */
        get: operations["getAppRepository"];
        /**
         * Create or replace a repository of an app
         * @description A triggerOnce repository that was put again may fire again.
         */
        put: operations["putAppRepository"];
        post?: never;
        /**
         * Delete a repository of an app
         * @description Its tools cannot fire any more. Pending effects are still delivered.
         */
        delete: operations["deleteAppRepository"];
        options?: never;
        head?: never;
        /**
         * Add tools to a repository of an app
         * @description A tool of the same name is replaced. Options, if given, replace the options. A missing repository is created. No concurrent patch is lost.
         */
        patch: operations["patchAppRepository"];
        trace?: never;
    };
    "/v1/apps/{appId}/repositories/{repositoryId}/tools/{toolName}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete one tool of a repository of an app
         * @description The other tools and the repository stay, even if it is then empty. The ETag in If-Match is that of the repository. A match from before does not fire the tool. Pending effects are still delivered.
         */
        delete: operations["deleteAppTool"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/repositories/{repositoryId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of a repository
         * @description Each write of an app's repository makes a version, with author and time, newest first. At most 50 versions and 2 MiB are kept, those of a deleted repository for 30 days.
         */
        get: operations["listVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/repositories/{repositoryId}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a version of a repository
         * @description Its definition is masked as that of the repository is.
         */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/repositories/{repositoryId}/versions/{version}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a version of a repository
         * @description It becomes the newest version, with the credentials that it had, and is checked as a PUT is. A repository that was deleted is there again.
         */
        post: operations["restoreVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sessions of an app
         * @description Those that are in use or were put, by id or by activity. All parameters filter together. If few of very many match, a page may be short or empty and still have a next. Of text, 2,000 sessions are looked at for one page, of state 1,000, else 20,000; of a user, 2,000 are put in the order of their activity.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a session
         * @description What was put of it, when it began, and the calls that still lack values: what a page needs that is loaded again. One that was neither used nor put is not found.
         */
        get: operations["getSession"];
        /**
         * Create a session, or change its settings
         * @description A session begins with its first use, so this is optional. The body replaces that of an earlier PUT. User, history, triggers and repositories stay. Another user than the session has is refused with 409. The templates named in repositories are copied into the session under their ids, each once: what has fired since does not come back.
         */
        put: operations["putSession"];
        post?: never;
        /**
         * Close a session
         * @description Removes its history and its repositories, and ends its tokens. Pending effects of its triggers are still delivered, and their records stay for the usual time. ?erase=true removes everything that was said or done in it, also before an earlier close. Messages in progress and pending effects are dropped. When it answers, messages, records, answers and events are gone from Redis and from both streams. Until then, for up to some seconds, requests for the session get 503. Its repositories are removed without tool.changed. A session that does not exist is no error. If an erasure is interrupted, the next one finishes it.
         */
        delete: operations["closeSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the events of a session
         * @description The events of the session. A session token does not see changes of repositories. id is the stream's sequence, event the subject's first two words, data the payload. The first id comes before any event. A client that reads too slowly is disconnected, and continues with Last-Event-ID. token.expiring comes a minute before the key or token ends, or at once if less is left, and says when. When it has ended, token.expired comes, and the stream ends within a second. These two have no id: open the stream again with a new token and the same lastEventId.
         */
        get: operations["followSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export all data of a session
         * @description One line of JSON each, with its kind first: the session if it is in use, its messages with outcomes, its triggers with values and every attempt, and the events in the stream. Each kind is oldest first. Triggers and events from before the session was closed are included. No lines mean that nothing is kept. If the connection breaks, the export is not complete.
         */
        get: operations["exportSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the history
         * @description Oldest first, or newest first with order=desc, each message with the triggers that it fired. A reply is beside its message. A cursor stays valid in either order while messages come and go.
         */
        get: operations["listMessages"];
        put?: never;
        /**
         * Post a chat message
         * @description Fires the tools that the message calls for, and answers with the result. Send a user's ID token in the header {name}_token of an authService: google_token for a service that is called google. What cannot be delivered yet is pending. The same messageId again gets the same answer and fires nothing. With dryRun=true nothing is stored, fired or counted, and effects have the state dry. In a dry run, the messageId of a message in the history gives place and time, or history says what came before, and now the time. With explain=true the answer says why. With final=false it is a draft, such as an interim transcript. A draft is matched at once, with the state draft, and nothing is fired, stored or published. It is kept for 60 seconds. Another text with the same messageId replaces it. The commit, or the same text with final=true, decides it as it was matched.
         */
        post: operations["postMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read one message with its outcome
         * @description As in the history, with the triggers that it fired and the present state of their effects.
         */
        get: operations["getMessage"];
        put?: never;
        post?: never;
        /**
         * Withdraw a draft
         * @description The draft fires nothing. If it is being matched, that is cancelled. A posted message or a committed draft is not a draft any more: 409 says what it fired.
         */
        delete: operations["withdrawMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide a draft
         * @description The same as posting its text with final=true. It uses the finished match, so that no model is asked again, and waits for a match in progress. If a tool that it calls for was removed or changed since, it is matched again. A decided message gets its stored answer. With explain=true the answer says why.
         */
        post: operations["commitMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain a message
         * @description Says why a message of a user was decided as it was. Explanations are kept for 24 hours by default (EARSHOT_EXPLAIN_RETENTION). Credentials, hidden values and claims are masked as ***. 404 says why there is none: the message is not decided yet, an agent said it, or it has expired.
         */
        get: operations["explainMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/repositories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the repositories of a session
         * @description Without those of the app.
         */
        get: operations["listSessionRepositories"];
        put?: never;
        /**
         * Create a repository of a session under a generated id
         * @description The id is in the answer and in Location.
         */
        post: operations["postSessionRepository"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a repository of a session
         * @description As it was put, credentials as ***, with its times.
         */
        get: operations["getSessionRepository"];
        /**
         * Create or replace a repository of a session
         * @description A triggerOnce repository that was put again may fire again.
         */
        put: operations["putSessionRepository"];
        post?: never;
        /**
         * Delete a repository of a session
         * @description Its tools cannot fire any more. Pending effects are still delivered.
         */
        delete: operations["deleteSessionRepository"];
        options?: never;
        head?: never;
        /**
         * Add tools to a repository of a session
         * @description A tool of the same name is replaced. Options, if given, replace the options. A missing repository is created. No concurrent patch is lost.
         */
        patch: operations["patchSessionRepository"];
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}/tools/{toolName}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete one tool of a repository of a session
         * @description The other tools and the repository stay, even if it is then empty. The ETag in If-Match is that of the repository. A match from before does not fire the tool. Pending effects are still delivered.
         */
        delete: operations["deleteSessionTool"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/socket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One WebSocket for a session: requests, answers and events
         * @description Frames are JSON texts. A client sends a SocketRequest for each operation, as many as it likes, and gets a SocketAnswer with the same id, in any order: 16 are under work at once, further ones are read when one of these is answered. The events of the session come as SocketEvent, as in its event stream. Each request has the rights of the key or token that the socket was opened with, and meets the limits that it meets over HTTP; a frame has at most 1 MiB. A browser, which can set no header, sends a session's token in the query. The first frame is the event open, whose lastEventId is where the events begin; alive comes every 15 s. A socket is closed with 1008 when its key, token or session ends (token.expired is its last event), with 1001 when the replica stops, with 1013 when events are taken too slowly, or there is no room for a frame, with 1003 for a frame that is no text.
         */
        get: operations["openSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a token for the front-end of a session
         * @description Valid for posting and reading messages, ui triggers and the events of this session. It ends with the key that made it, the session and the app. It posts only as actor user.
         */
        post: operations["postToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tools in scope of a session, as a model sees them
         * @description Of each name the tool that fires, sorted by name. Tools that need a verified user are listed as well.
         */
        get: operations["listSessionTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/tools/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find tools in scope of a session by a text
         * @description The tools in scope that share words with the text, best first, each with its score. It compares name, description, parameters and examples, as when tools are chosen for a model. No model is asked. Tools that need a verified user are included. An answer has at most 1 MiB.
         */
        post: operations["searchSessionTools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sessions/{sessionId}/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the triggers of a session
         * @description Newest first, with delivery state and attempts. All parameters filter together. If few of very many match, a page may be short or empty and still have a next.
         */
        get: operations["listSessionTriggers"];
        put?: never;
        /**
         * Fire a tool of the session or the app
         * @description Fires without the matcher. A tool that requires a verified user needs an ID token in the header {name}_token of one of its services, else 401 names them. Values are strict: "5" is not a number. 404 if no tool of this name is in scope, also if another request just used up a triggerOnce repository. The same triggerId again gets the same answer and fires nothing.
         */
        post: operations["fireInSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the sources of an app can be reached
         * @description The replica connects to each source, under the same guard as calls, at most every 30 s. Sources that are files are only listed.
         */
        get: operations["listSources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/tests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tests of an app
         * @description Expected conversations, by name.
         */
        get: operations["listTests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/tests/{testName}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a test
         * @description As it was put.
         */
        get: operations["getTest"];
        /**
         * Create or replace a test
         * @description An expected conversation, in the form of kind: test of files; at most 32 KiB, and 200 of an app.
         */
        put: operations["putTest"];
        post?: never;
        /**
         * Delete a test
         * @description It is not run again.
         */
        delete: operations["deleteTest"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tools in scope of an app, as a model sees them
         * @description Of each name the tool that fires, sorted by name. Tools that need a verified user are listed as well.
         */
        get: operations["listAppTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/tools/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find tools in scope of an app by a text
         * @description The tools in scope that share words with the text, best first, each with its score. It compares name, description, parameters and examples, as when tools are chosen for a model. No model is asked. Tools that need a verified user are included. An answer has at most 1 MiB.
         */
        post: operations["searchAppTools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/tools/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count how often each tool was used in the last 24 hours
         * @description By tool name, over all repositories: how often it fired, and how often its values were missing or wrong, in total and by hour. Other replicas are counted some seconds later. A tool that was not used is missing.
         */
        get: operations["listToolUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the triggers of an app
         * @description Newest first. state=failed lists failed triggers. All parameters filter together. If few of very many match, a page may be short or empty and still have a next.
         */
        get: operations["listTriggers"];
        put?: never;
        /**
         * Fire a tool of the app
         * @description As in a session, with the app-scoped tools only. A user's ID token, if any, goes in the header {name}_token of an authService.
         */
        post: operations["fireInApp"];
        /**
         * Remove failed triggers
         * @description Removes the records of all failed triggers that match, with what they have not delivered. state=failed is required. With dryRun=true they are only counted.
         */
        delete: operations["purgeTriggers"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a trigger
         * @description With its values, the state of its effects and every attempt at them. A record is kept for EARSHOT_RETENTION (168h) after it is done, EARSHOT_DEAD_RETENTION (720h) if it failed.
         */
        get: operations["getTrigger"];
        put?: never;
        post?: never;
        /**
         * Remove the record of a trigger
         * @description The trigger must be delivered, failed or ended. The history of its session and its events stay.
         */
        delete: operations["removeTrigger"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a trigger
         * @description For a tool with answer: your answer takes the place of a call's result. The first answer counts. A repeat is harmless, and gets the one that counts. The session's token may answer the triggers of its session. The same JSON may be published on answer.{appId}.{triggerId}.
         */
        post: operations["answerTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a trigger
         * @description A trigger that settles or waits for a confirmation ends as cancelled, without an effect, and tool.cancelled is published. The session's token may cancel triggers of its session.
         */
        post: operations["cancelTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm a trigger
         * @description For a tool with confirm: the trigger takes effect now, or settles first if its tool says so. The digest says what the user was asked. A plain yes in the user's next message does the same. The session's token may confirm triggers of its session.
         */
        post: operations["confirmTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deny a trigger
         * @description For a tool with confirm: the trigger ends as cancelled, without an effect, and tool.cancelled is published. The session's token may deny triggers of its session.
         */
        post: operations["denyTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/{triggerId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a trigger: what failed, or what waits for its next attempt
         * @description Under the same ids: a receiver that has it already will know it. An attempt that is under way is left alone, and no second one is made beside it.
         */
        post: operations["retryTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/triggers/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry all failed triggers that match
         * @description They are those of the list with state=failed and the same parameters. With dryRun=true they are only counted.
         */
        post: operations["retryTriggers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what an app has used, over time
         * @description Messages and their durations, triggers, requests to models with tokens, calls and events, in steps. The time is the last 30 days, 24 hours or 60 minutes, or the one between since and until. from and to name days of UTC, both included. A step without use is missing. Other replicas are counted some seconds later.
         */
        get: operations["listUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/usage/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the results of calls by host
         * @description For the last hour, or the time between since and until. It counts by minute if the time begins in the last three hours, else by hour. Hours are kept for 14 days. Other replicas are counted some seconds later.
         */
        get: operations["listHosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase all sessions of a user
         * @description erase=true is required. Each session of the user is erased as by DELETE of the session, also ended ones with records or events left. The answer says how many. If it is interrupted, the next one finishes it. A user without sessions is no error.
         */
        delete: operations["eraseUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/users/{user}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export all data of a user's sessions
         * @description The lines of each session's export, one session after the other, those that have ended as well. Each begins with a line of kind session.
         */
        get: operations["exportUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the state of an app's webhooks
         * @description They are added and changed in settings.webhooks of the app.
         */
        get: operations["listWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/webhooks/{webhookName}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events that did not arrive at a webhook
         * @description Those that are to be sent again, and those that were given up after three days: of each at most 1000.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{appId}/webhooks/{webhookName}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send events to a webhook again
         * @description With since: all events in the stream from that moment on, with their old ids. Without it: what did not arrive, at once. A webhook that Earshot disabled is enabled again.
         */
        post: operations["resendWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who the caller is
         * @description The app, session and scopes of the key or token that the request carries; it may be called with any of them.
         */
        get: operations["whoAmI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    toolCall: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The call of a tool that fired
         * @description The request to the url of a tool. The tool's request sets method, headers, credentials and body. Without it, this is an unauthenticated POST. A call is made at least once: store the webhook-id of what is done, and answer 200 to a repeat. An http tool on a source calls the source in the same way, with the headers below.
         */
        post: operations["toolCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description A message that is stored and not decided yet. */
        Accepted: {
            /** @description The message, under its own id or the one that was made for it. */
            messageId: string;
        };
        /** @description What a message fired. */
        Answer: {
            /** @description Why ID tokens were refused, by service: expired; audience: for another client; signature, issuer, or its time has not come; malformed; claim: it is good, and a tool in scope needs another one; unavailable: the issuer did not answer. Missing if all do. */
            auth?: {
                [key: string]: "expired" | "audience" | "signature" | "malformed" | "claim" | "unavailable";
            };
            /** @description With explain=true: the explanation. Missing if it is no longer kept. */
            explain?: components["schemas"]["Explanation"];
            /** @description The tools that fired. */
            matches: components["schemas"]["Match"][];
            /** @description The message: the id that was sent, or the one that was made. */
            messageId: string;
            /** @description The tools that the message called for and that did not fire, since values are missing or wrong. */
            rejected: components["schemas"]["Rejected"][];
            /** @description The model's text, the result of a returnDirect tool, or null for no reply. */
            reply: unknown;
            /**
             * @description json where the reply is a result that is no text; missing for a text.
             * @enum {string}
             */
            replyType?: "json";
            /** @description The triggers that settled, of tools with cancelOnNext, and that the message took back. Missing if there are none. */
            retracted?: components["schemas"]["Retracted"][];
            /** @description The front-end should not answer by itself. */
            skipResponse: boolean;
        };
        /** @description A tenant. */
        App: {
            /** @description The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            appId?: string;
            /** @description Issuers of ID tokens that are verified. A front-end sends a user's token in the header {name}_token. */
            authServices?: components["schemas"]["AuthService"][];
            /** @description OAuth2 clients of the app, with which its tools can authenticate calls. */
            modules?: components["schemas"]["Module"][];
            /** @description What people call it, as shown in lists. */
            name?: string;
            /** @description What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request. */
            readonly notes?: string[];
            /** @description How messages of the app are matched and answered, and its limits. */
            settings?: components["schemas"]["Settings"];
            /** @description Signs calls (Standard Webhooks): whsec_ and base64, or 24 to 64 bytes in base64. While receivers change over, several with spaces between them. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            signingSecret?: string;
            /** @description Databases and APIs that tools of a type work on. */
            sources?: components["schemas"]["Source"][];
        };
        /** @description A page of apps, by id. */
        AppList: {
            /** @description The page. */
            items: components["schemas"]["StoredApp"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description One attempt to deliver an effect of a trigger. */
        Attempt: {
            /** @description Its number, from 1. */
            attempt: number;
            /**
             * @description What was to be delivered: the event, the emitter's event, the call, or the event with the call's result.
             * @enum {string}
             */
            effect: "event" | "emitter" | "call" | "result";
            /** @description Why it failed, in words. */
            error?: string;
            /** @description How long it took, in milliseconds. */
            ms?: number;
            /** @description Why it failed. */
            reason?: components["schemas"]["Reason"];
            /** @description What the call has sent. */
            request?: components["schemas"]["Sent"];
            /** @description How the answer begins, of a call that was not delivered; its credentials masked. */
            response?: string;
            /** @description HTTP status, if there was an answer. */
            status?: number;
            /**
             * Format: date-time
             * @description When it began.
             */
            ts: string;
            /** @description It began, but its replica died before its end was recorded. It may have been sent. */
            unended?: boolean;
        };
        /** @description Something that was done to an app. */
        AuditEntry: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "trigger.confirm" | "trigger.deny" | "trigger.cancel" | "trigger.retry" | "trigger.remove" | "triggers.retry" | "triggers.purge" | "session.erase" | "user.erase" | "key.create" | "key.revoke" | "app.change" | "app.delete" | "repository.change" | "repository.delete" | "tool.delete" | "webhook.resend";
            /** @description Who did it: the id of a key; admin; module: and the id of a module; service: and the name of the service that has verified a user; session, a front-end by its session token; user, the words of a user. */
            by: string;
            /** @description Names the entry. */
            id: string;
            /** @description The key that was made or revoked. */
            keyId?: components["schemas"]["Id"];
            /** @description The name of that key. */
            keyName?: string;
            /** @description The repository. */
            repositoryId?: components["schemas"]["Id"];
            /** @description The X-Request-Id of the request, which stands in the log. */
            requestId?: string;
            /** @description The session that was erased. */
            sessionId?: components["schemas"]["Id"];
            /** @description The tool. */
            toolName?: string;
            /** @description The trigger. */
            triggerId?: components["schemas"]["Id"];
            /**
             * Format: date-time
             * @description When it was done, or was about to be.
             */
            ts: string;
            /**
             * @description By which way.
             * @enum {string}
             */
            via: "rest" | "nats" | "mcp" | "sermas" | "console" | "message";
            /** @description The webhook. */
            webhookName?: components["schemas"]["Id"];
        };
        /** @description A page of entries, the newest first. */
        AuditList: {
            /** @description The page. */
            items: components["schemas"]["AuditEntry"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description How ID tokens are verified: google needs clientId, oidc needs issuer and audience. */
        AuthService: {
            /** @description Of oidc: the origin at which agents reach this service, as https://earshot.example. Access tokens of the issuer are valid at the app's MCP URLs there. */
            agents?: string;
            /** @description Of oidc: the aud that tokens must be for. */
            audience?: string;
            /** @description Of google: the OAuth client that tokens must be for. */
            clientId?: string;
            /**
             * Format: uri
             * @description Of oidc: the iss of its tokens, an absolute http or https URL under which its keys are found.
             */
            issuer?: string;
            /** @description Name of the service, which is part of the header {name}_token: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            name: string;
            /**
             * @description google: Google's ID tokens; oidc: those of any OpenID Connect issuer.
             * @enum {string}
             */
            type: "google" | "oidc";
        };
        /** @description What an app has to do: its pending triggers and those that have failed. What the pending ones wait for is counted of the oldest 5,000. */
        Backlog: {
            /** @description Wait for a confirmation. */
            confirming: number;
            /** @description Those that have failed and were neither retried nor removed. */
            failed: components["schemas"]["Stock"];
            /** @description Wait for the first attempt at their call, or its end. */
            firstAttempts: number;
            /** @description Wait for a further attempt at their call. */
            laterAttempts: number;
            /** @description How many were looked at for these four. */
            looked: number;
            /** @description Those that wait for something, held back ones among them. */
            pending: components["schemas"]["Stock"];
            /** @description Can still be taken back. */
            settling: number;
        };
        /** @description A user and a password (RFC 7617). */
        Basic: {
            /** @description A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            password: string;
            /** @description The user. */
            username: string;
        };
        /** @description An OAuth2 client, and where to get its tokens. Tokens are kept, and renewed before they expire. */
        Bearer: {
            /** @description Sent with the request for a token, if the service needs one. */
            audience?: string;
            /** @description The OAuth client. */
            clientId?: string;
            /** @description The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            clientSecret?: string;
            /**
             * @description The grant (RFC 6749). Default: client_credentials.
             * @enum {string}
             */
            clientType?: "client_credentials" | "password";
            /** @description Of the grant password. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            password?: string;
            /**
             * Format: uri
             * @description Where to renew tokens, if that is another URL: absolute, http or https.
             */
            refreshUrl?: string;
            /** @description Scopes to ask for with the token. */
            scopes?: string[];
            /**
             * Format: uri
             * @description Where to get tokens: an absolute http or https URL.
             */
            tokenUrl: string;
            /** @description Of the grant password: the user. */
            username?: string;
        };
        /** @description Whom the service takes the caller for. */
        Caller: {
            /** @description It may do everything: the key is the admin's, or requests need no key. */
            admin: boolean;
            /** @description The app of the key or token; missing for the admin. */
            appId?: string;
            /**
             * Format: date-time
             * @description When the key or token ends; missing for never.
             */
            expiresAt?: string;
            /** @description The key, by the id under which it can be revoked. */
            keyId?: string;
            /** @description Where the NATS server inside of earshot dev is; no other service says it. */
            natsUrl?: string;
            /** @description What a key of an app may do. */
            scopes?: ("tools" | "messages" | "triggers" | "app" | "tools:read" | "messages:read" | "triggers:read" | "app:read")[];
            /** @description The session of a session token. */
            sessionId?: string;
        };
        /** @description How far a call has come. */
        CallState: {
            /** @description How often it was tried. */
            attempts: number;
            /** @description Why it failed, in words. */
            error?: string;
            /** @description Why it failed. */
            reason?: components["schemas"]["Reason"];
            /** @description What the endpoint answered: its JSON, else its text as a JSON string. Rows of a SQL tool are an array of objects. */
            result?: unknown;
            /**
             * @description delivered: it was answered with 2xx. pending: it is stored, and will be retried. failed: it has failed for good. dry, draft: in a dry run or a draft, it would be pending. confirming, cancelled, duplicate: it is not due, or not yet, as the trigger.
             * @enum {string}
             */
            state: "delivered" | "pending" | "failed" | "dry" | "draft" | "confirming" | "cancelled" | "duplicate";
            /** @description HTTP status of the last attempt; missing if there was no answer. */
            status?: number;
            /** @description The result was longer than 64 KiB (of a SQL tool 1,000 rows or 256 KiB) and is cut. */
            truncated?: boolean;
            /**
             * Format: date-time
             * @description Of one that waits for its next attempt: no attempt begins after that.
             */
            until?: string;
        };
        /** @description A chat completion as OpenAI describes it. All fields go to the model; these are read here as well. */
        ChatRequest: {
            /** @description The conversation. The last message of the role user is matched. */
            messages: {
                [key: string]: unknown;
            }[];
            /** @description Its session_id names the session, where neither path nor header does. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Names the session if nothing else does. */
            user?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Where in a verified ID token a value stands. */
        Claim: {
            /** @description The claim of the ID token that is the value. A path with dots leads into objects, as address.country. */
            field: string;
            /** @description Name of one of the app's authServices: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            name: string;
        };
        /** @description A yes to a trigger that waits for one. */
        Confirmation: {
            /** @description The digest of the match or of tool.confirm. It stands for app, session, tool and values. */
            digest: string;
        };
        /** @description A no to a trigger that waits to be confirmed. */
        Denial: {
            /** @description The digest of the match or of tool.confirm. Without it the trigger is denied whatever its values are. */
            digest?: string | null;
        };
        /** @description A message that would come out otherwise. */
        DifferingMessage: {
            /** @description What would come of it. */
            after: components["schemas"]["RehearsedResult"];
            /** @description What comes of it with the tools as they are. */
            before: components["schemas"]["RehearsedResult"];
            /**
             * @description How it differs, as the counts name it.
             * @enum {string}
             */
            change: "fires" | "noLonger" | "otherTool" | "otherValues" | "otherRejection";
            /** @description The message. */
            messageId: string;
            /** @description Its session. */
            sessionId: components["schemas"]["Id"];
            /** @description What was said. */
            text: string;
            /**
             * Format: date-time
             * @description When it was said.
             */
            ts: string;
        };
        /** @description A tool to fire without the matcher. */
        Direct: {
            /** @description Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the trigger, where it overrides that of the session. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The tool: 1 to 64 of A-Z a-z 0-9 _ -. */
            name: string;
            /** @description The repository. Default: the one in scope. */
            repositoryId?: string;
            /**
             * @description Who fires it.
             * @enum {string}
             */
            source: "ui" | "task" | "agent";
            /** @description Idempotency key. The service generates one if it is missing. With a session's token, the service adds a suffix of the session, and returns the whole id. */
            triggerId?: string;
            /** @description Values of its parameters. Types are strict: "5" is not a number. A name that the tool lacks is an error. */
            values?: {
                [key: string]: unknown;
            };
        };
        /** @description How long something took, in milliseconds; at most a fifth too long. */
        Durations: {
            /** @description Half of all took no longer. */
            p50: number;
            /** @description 95 of 100 took no longer. */
            p95: number;
        };
        /** @description An earlier message, as the history has it. */
        Earlier: {
            /**
             * @description Who said it.
             * @enum {string}
             */
            actor: "user" | "agent";
            /** @description What it fired, as matches of its answer. Of each, name, repositoryId, values and state count. */
            matches?: {
                [key: string]: unknown;
            }[] | null;
            /** @description What it was rejected for, as rejected of its answer. Of each, name, repositoryId, values, missing and errors count. */
            rejected?: {
                [key: string]: unknown;
            }[] | null;
            /** @description What was said: not empty, at most 65536 bytes of UTF-8. */
            text: string;
        };
        /** @description A message of the history. */
        Entry: {
            /**
             * @description Who said it.
             * @enum {string}
             */
            actor: "user" | "agent";
            /** @description Why ID tokens that came with it are not valid, as in its answer. */
            auth?: {
                [key: string]: "expired" | "audience" | "signature" | "malformed" | "claim" | "unavailable";
            };
            /** @description Why it is not decided. */
            error?: string;
            /** @description The tools that it fired, with the state of their effects now. */
            matches: components["schemas"]["Match"][];
            /** @description The message. */
            messageId: string;
            /** @description What its client attached to the message. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tools that it called for and that did not fire. */
            rejected?: components["schemas"]["Rejected"][];
            /** @description The reply to it, as in its answer, if any. */
            reply?: unknown;
            /**
             * @description json where the reply is a result that is no text; missing for a text.
             * @enum {string}
             */
            replyType?: "json";
            /** @description The triggers that it took back, as in its answer. */
            retracted?: components["schemas"]["Retracted"][];
            /**
             * @description decided, pending (being worked on) or failed (not decided: error says why, and the same messageId tries again).
             * @enum {string}
             */
            state: "decided" | "pending" | "failed";
            /** @description What was said. */
            text: string;
            /**
             * @deprecated
             * @description The earlier name of matches, the same.
             */
            triggers: components["schemas"]["Match"][] | null;
            /**
             * Format: date-time
             * @description When it was accepted.
             */
            ts: string;
        };
        /** @description A page of the history. */
        EntryList: {
            /** @description The page. */
            items: components["schemas"]["Entry"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description What was erased of a user. */
        ErasedUser: {
            /** @description How many sessions were erased by this request. */
            erased: number;
            /** @description The user. */
            user: string;
        };
        /** @description A trigger ended before it had an effect. It was denied, cancelled, withdrawn by the next message, or not confirmed in time. */
        EventCancelled: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /**
             * @description What ended it: deny, expire (not confirmed in time), cancel (POST …/cancel), or retract (the user's next message, with cancelOnNext).
             * @enum {string}
             */
            reason: "deny" | "expire" | "cancel" | "retract";
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["EventId"];
            /** @description The tool's parameters as given: a list, or a JSON Schema object. */
            schema: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /** @description The text of that message. */
            text?: string;
            /** @description The trigger. */
            triggerId: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
            /** @description Values of the tool's parameters. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description A repository was created, updated or deleted. */
        EventChanged: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /**
             * @description What was done.
             * @enum {string}
             */
            operation: "created" | "updated" | "deleted";
            /** @description The repository, without credentials and headers. */
            record: {
                [key: string]: unknown;
            };
            /** @description The repository. */
            repositoryId: components["schemas"]["EventId"];
            /** @description Missing for a repository of the app. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When it was changed.
             */
            ts: string;
        };
        /** @description A message could not be decided. */
        EventChatFailed: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message. */
            messageId: string;
            /** @description Metadata of the session, overridden by that of the message. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Why, for people. */
            reason: string;
            /** @description Seconds to wait before trying again, if known. */
            retryAfter?: number;
            /** @description The session. */
            sessionId: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When the attempt ended.
             */
            ts: string;
        };
        /** @description A message was stored, or a reply was made. */
        EventChatMessage: {
            /**
             * @description Who said it. A reply is of the assistant.
             * @enum {string}
             */
            actor: "user" | "agent" | "assistant";
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message. That of a reply ends with .reply. */
            messageId: string;
            /** @description Metadata of the session, overridden by that of the message. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description The session. */
            sessionId: components["schemas"]["EventId"];
            /** @description What was said. */
            text?: string;
            /**
             * Format: date-time
             * @description When it was said, as in the history.
             */
            ts: string;
        };
        /** @description A tool was called for, and waits for a confirmation before it has an effect. */
        EventConfirm: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description A digest of app, session, tool and values, for POST …/confirm and …/deny. */
            digest: string;
            /**
             * Format: date-time
             * @description When it is cancelled without an answer.
             */
            expiresAt: string;
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description What the user is asked. */
            question: string;
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["EventId"];
            /** @description The tool's parameters as given: a list, or a JSON Schema object. */
            schema: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /** @description The text of that message. */
            text?: string;
            /** @description The trigger. */
            triggerId: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
            /** @description Values of the tool's parameters. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description A tool was called for with the values of an earlier trigger, which stands for it. */
        EventDuplicate: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description The trigger that had equal values before. */
            of: components["schemas"]["EventId"];
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["EventId"];
            /** @description The tool's parameters as given: a list, or a JSON Schema object. */
            schema: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /** @description The text of that message. */
            text?: string;
            /** @description The trigger. */
            triggerId: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
            /** @description Values of the tool's parameters. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description A tool has fired. */
        EventFired: {
            /** @description Where to send the answer, if the trigger waits for one. */
            answer?: {
                /** @description Its subject on NATS. */
                subject: string;
                /** @description Its path at the service, for POST. */
                url: string;
            };
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["EventId"];
            /** @description The tool's parameters as given: a list, or a JSON Schema object. */
            schema: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /** @description The text of that message. */
            text?: string;
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
            /** @description Values of the tool's parameters. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description The answer to a trigger. */
        EventGiven: {
            /** @description Why it was not done, for people. Required if ok is false. */
            error?: string;
            /** @description Whether it was done. */
            ok: boolean;
            /** @description The result, any JSON, cut after 64 KiB. */
            result?: unknown;
        };
        /** @description 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
        EventId: string;
        /** @description Tools were in scope, and the message called for none. */
        EventNotmatching: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description The repositories of these tools. */
            repositories: components["schemas"]["EventId"][];
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /** @description The text of that message. */
            text?: string;
            /** @description Names of the tools in scope. Of more than 64, those that fit the message best, best first. */
            tools: components["schemas"]["EventToolName"][];
            /** @description How many tools were in scope. */
            toolsTotal: number;
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
        };
        /** @description A tool was called for, and its values are missing or wrong. */
        EventRejected: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description What to ask the user next: the question of the first parameter that lacks a valid value and has a question. */
            ask?: string;
            /** @description Every error in the values. */
            errors: {
                /** @description What is wrong with its value. */
                detail: string;
                /** @description The parameter, or empty for the values as a whole. */
                parameter: string;
            }[] | null;
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Required parameters without a value. */
            missing: string[] | null;
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["EventId"];
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /** @description The text of that message. */
            text?: string;
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
            /** @description The values known so far. */
            values: {
                [key: string]: unknown;
            } | null;
        };
        /** @description The call of a tool has ended, well or not. */
        EventResult: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /** @description Why it failed, in words. */
            error?: string;
            /** @description The triggerId and .result, or .result-n after the nth retry of a failed call. The same on every delivery. */
            id: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The tool. */
            name: components["schemas"]["EventToolName"];
            /** @description Whether the call was answered with 2xx. */
            ok: boolean;
            /** @description Fields that were left out because the event would exceed 1 MiB. Read them over REST. */
            omitted?: string[];
            /**
             * @description Why it failed. auth: credentials are missing or refused. request: it was refused or cannot be made. blocked: the address is not allowed. outcome_unknown: it may have arrived. cancelled: the client withdrew the request for an answer.
             * @enum {string}
             */
            reason?: "auth" | "request" | "timeout" | "blocked" | "outcome_unknown" | "cancelled";
            /** @description The repository that has the tool. */
            repositoryId?: components["schemas"]["EventId"];
            /** @description The endpoint's answer: its JSON, else its text as a JSON string. A SQL tool's rows are an array of objects. */
            result?: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["EventId"];
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source?: "message" | "ui" | "task" | "agent";
            /** @description HTTP status of the last attempt, if there was an answer. */
            status?: number;
            /** @description The text of that message. */
            text?: string;
            /** @description The trigger whose call it was. */
            triggerId: components["schemas"]["EventId"];
            /** @description The result was too long and was cut. */
            truncated?: boolean;
            /**
             * Format: date-time
             * @description When it happened.
             */
            ts: string;
        };
        /** @description The payload of each kind of event. */
        Events: {
            /** @description A message could not be decided, in an app with settings.chatEvents. It stays in the history. Send the same messageId to try again. */
            "chat.failed": components["schemas"]["EventChatFailed"];
            /** @description A message was stored, or a reply was made, in an app with settings.chatEvents. */
            "chat.message": components["schemas"]["EventChatMessage"];
            /** @description A trigger ended before it had an effect. It was denied, cancelled, withdrawn by the next message, or not confirmed in time. */
            "tool.cancelled": components["schemas"]["EventCancelled"];
            /** @description A repository was created, updated or deleted. */
            "tool.changed": components["schemas"]["EventChanged"];
            /** @description A tool was called for, and waits for a confirmation before it has an effect. */
            "tool.confirm": components["schemas"]["EventConfirm"];
            /** @description A tool was called for with the values of an earlier trigger, which stands for it. */
            "tool.duplicate": components["schemas"]["EventDuplicate"];
            /** @description Tools were in scope and the message called for none. */
            "tool.notmatching": components["schemas"]["EventNotmatching"];
            /** @description A message called for a tool, with values that are missing or wrong. Nothing fired. */
            "tool.rejected": components["schemas"]["EventRejected"];
            /** @description The call of a tool has ended, well or not. */
            "tool.result": components["schemas"]["EventResult"];
            /** @description A tool fires. */
            "tool.trigger": components["schemas"]["EventFired"];
            /** @description A webhook of the app was disabled: nothing has arrived for five days, or its server answered 410. */
            "tool.webhook": components["schemas"]["EventWebhook"];
        };
        /** @description How far an event has come. */
        EventState: {
            /** @description Why it failed. */
            error?: string;
            /**
             * @description published: JetStream has it. pending: it is stored, and will be retried. failed: it has failed for good. dry, draft: in a dry run or a draft, it would be pending. confirming, cancelled, duplicate: it is not due, or not yet, as the trigger.
             * @enum {string}
             */
            state: "published" | "pending" | "failed" | "dry" | "draft" | "confirming" | "cancelled" | "duplicate";
            /** @description The subject on NATS. */
            subject: string;
        };
        /** @description 1 to 64 of A-Z a-z 0-9 _ -. */
        EventToolName: string;
        /** @description A webhook of the app was disabled. */
        EventWebhook: {
            /** @description The app. */
            appId: components["schemas"]["EventId"];
            /**
             * Format: date-time
             * @description When the failures began.
             */
            failingSince?: string;
            /** @description The event; the same on every delivery. */
            id: string;
            /** @description The webhook. */
            name: components["schemas"]["EventId"];
            /** @description Why, for people. */
            reason: string;
            /**
             * @description What it is now.
             * @enum {string}
             */
            state: "disabled";
            /**
             * Format: date-time
             * @description When it was disabled.
             */
            ts: string;
        };
        /** @description A tool that was not in scope. */
        ExplainedBarred: {
            /** @description The tool. */
            name: string;
            /**
             * @description Another of its name comes before it, or it needs a verified user.
             * @enum {string}
             */
            reason: "shadowed" | "unverified";
            /** @description Its repository. */
            repositoryId: string;
            /** @description The repository is the session's own. */
            session?: boolean;
            /** @description The same in a sentence. */
            why: string;
        };
        /** @description A call that was found for the message. */
        ExplainedCall: {
            /** @description As they were given, by parameter; a text where they cannot be read. */
            arguments: unknown;
            /** @description Parameters whose value was changed in form, not in meaning. */
            coerced: string[];
            /** @description What is wrong with the values. */
            errors: {
                /** @description What is wrong. */
                detail: string;
                /** @description The parameter; empty for the whole. */
                parameter: string;
            }[];
            /** @description Where in the conversation each inferred value was said; null for nowhere. */
            evidence?: {
                [key: string]: {
                    /** @description The newest message that says it. */
                    messageId?: string;
                    /** @description Its own words. */
                    words: string;
                } | null;
            };
            /** @description Arguments that no parameter asks for. */
            ignored?: string[];
            /** @description The tool, as the model named it. */
            name: string;
            /** @description The arguments were not well-formed JSON. */
            repaired: boolean;
            /** @description The tool's repository; missing for a name that no tool in scope has. */
            repositoryId?: string;
            /** @description The answer of the model that has it, from 1; missing if no model was asked. */
            round?: number;
            /** @description The trigger that it fired. */
            triggerId?: string;
            /**
             * @description What became of it: rejected for its values, dropped for another reason.
             * @enum {string}
             */
            verdict: "fired" | "rejected" | "dropped";
            /** @description Why, in a sentence. */
            why: string;
        };
        /** @description A tool in scope. */
        ExplainedCandidate: {
            /** @description The model was not shown the tool. */
            cut: boolean;
            /** @description The tool. */
            name: string;
            /** @description Its repository. */
            repositoryId: string;
            /** @description How near the message is to the tool by its words, where that was compared: 0 for nothing in common. */
            score?: number;
            /** @description The repository is the session's own. */
            session?: boolean;
            /** @description Why it was cut. */
            why?: string;
        };
        /** @description One request to a model, and its answer. */
        ExplainedRequest: {
            /** @description Why the answer is of no use. */
            error?: string;
            /** @description Members of it that were not sent, since the model refuses them. */
            leftOut?: string[];
            /** @description The model that was asked. */
            model: string;
            /** @description How long it took, in milliseconds. */
            ms: number;
            /** @description The body that was sent; a text if it was cut. */
            request: unknown;
            /** @description The body that came back, as it came; a text if it is not JSON. */
            response: unknown;
            /** @description As far as the provider reports them. */
            tokens: {
                /** @description Of those, the ones out of the provider's cache. */
                cached: number;
                /** @description Of the answer. */
                completion: number;
                /** @description Of the request. */
                prompt: number;
            };
        };
        /** @description Why a message came out as it did. Credentials, hidden values and claims are masked as ***. */
        Explanation: {
            /** @description The calls that were found, and what became of each. */
            calls: components["schemas"]["ExplainedCall"][];
            /** @description The tools in scope: those with scores first, then those that a model was shown. */
            candidates: components["schemas"]["ExplainedCandidate"][];
            /** @description What is left out for its size, or is lost. */
            cut?: string[];
            /** @description The message. */
            messageId: string;
            /** @description How many candidates are not listed; missing for none. */
            moreCandidates?: number;
            /** @description What else is to be known, such as a setting that does not hold. */
            notes?: string[];
            /** @description Tools that are there and could not be called. */
            notInScope: components["schemas"]["ExplainedBarred"][];
            /** @description Requests to the model, in their order. */
            requests: components["schemas"]["ExplainedRequest"][];
            /**
             * @description What decided: the exact text of a tool, a model, or the rule-based matcher; none if nothing was in scope.
             * @enum {string}
             */
            stage: "exact" | "llm" | "offline" | "none";
            /**
             * Format: date-time
             * @description When it was decided.
             */
            ts: string;
            /** @description What the message did, in a sentence; if nothing fired, why. */
            why: string;
        };
        /**
         * @description What is wrong with a field or a value, for programs. It stays the same for ever; a later version may have further ones.
         * @enum {string}
         */
        FaultCode: "unknown_field" | "not_allowed" | "missing" | "wrong_type" | "not_supported" | "malformed_json" | "invalid_value";
        /** @description A tool in scope, as a model sees it, and how near a text is to it. */
        FoundTool: {
            /** @description What it does, as its author says. */
            description: string;
            /** @description JSON Schema 2020-12 of the values that a caller may give: without hidden, fixed and authenticated parameters. */
            inputSchema: {
                [key: string]: unknown;
            };
            /** @description Name of the tool. */
            name: string;
            /** @description Repository that the tool is in. */
            repositoryId: string;
            /** @description How near the text is to the tool by its words: above 0, and 1.3 at most. It tells tools of one answer apart. */
            score: number;
        };
        /** @description The tools that were found, the nearest first. */
        FoundToolList: {
            /** @description The tools, the nearest first. */
            items: components["schemas"]["FoundTool"][];
        };
        /** @description The answer to a trigger. */
        Given: {
            /** @description Why it was not done, for people. Required if ok is false. */
            error?: string;
            /** @description Whether it was done. */
            ok: boolean;
            /** @description The result, any JSON. Only with ok true. It is cut after 64 KiB. */
            result?: unknown;
        };
        /** @description How a host that tools call has fared. */
        HostHealth: {
            /** @description Attempts at calls. */
            calls: number;
            /** @description Those that failed. */
            failures: number;
            /** @description Those that were not made, as the host had failed ten times in a row, or had no room. */
            heldBack: number;
            /** @description The host, with its port where the tool names one; (other) for all beyond the first 50 of a minute on a replica. */
            host: string;
            /**
             * Format: date-time
             * @description When the minute, or the hour, of the last of them began.
             */
            lastCallAt: string;
            /** @description How long calls took; missing if none was made. */
            ms?: components["schemas"]["Durations"];
            /**
             * @description Of the last minute, or hour, in which it was called: failing, where no call succeeded; down, where calls were held back as well.
             * @enum {string}
             */
            state: "up" | "failing" | "down";
        };
        /** @description The hosts that an app's tools call. */
        HostHealthList: {
            /** @description The hosts, by name. */
            items: components["schemas"]["HostHealth"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description The use of a tool in one hour. */
        HourOfUse: {
            /** @description How often it fired. */
            fired: number;
            /** @description How often it was called for with values missing or wrong. */
            rejected: number;
            /**
             * Format: date-time
             * @description When the hour began.
             */
            ts: string;
        };
        /** @description 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
        Id: string;
        /** @description What the members of an array are; default and required have no meaning here. */
        Items: {
            /** @description Other words for allowed values, by the value. An alias becomes that value, from users and programs. */
            aliases?: {
                [key: string]: string[];
            };
            /** @description A value must equal an entry, or match all of it as RE2. */
            allowedValues?: unknown[];
            /** @description The value comes from a verified ID token: the claim of the first verified service of these. */
            authServices?: components["schemas"]["Claim"][];
            /** @description Used if no value is given. null is none. */
            default?: unknown;
            /** @description What the value is, for the model. */
            description?: string;
            /**
             * @description Puts the value between delimiters, and doubles a closing one inside it.
             * @enum {string}
             */
            escape?: "single-quotes" | "double-quotes" | "backticks" | "square-brackets";
            /** @description A value must not equal an entry, or match any part of it as RE2. */
            excludedValues?: unknown[];
            /**
             * @description The form of a string by ISO 8601. Words of users are converted to it.
             * @enum {string}
             */
            format?: "date" | "time" | "date-time" | "duration";
            /** @description Never shown to a model or filled by it. */
            ignore?: boolean;
            /** @description What the members of an array are. */
            items?: components["schemas"]["Items"];
            /** @description Greatest value of a number. */
            maxValue?: number;
            /** @description Least value of a number. */
            minValue?: number;
            /** @description Ignored: members have no names. */
            name?: string;
            /** @description Ignored: members have no names. */
            parameter?: string;
            /** @description Has no meaning for a member. Ignored. */
            required?: boolean;
            /**
             * @description What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items says of what) or map (an object whose values are all of valueType).
             * @enum {string}
             */
            type: "string" | "number" | "integer" | "float" | "boolean" | "object" | "array" | "map";
            /** @description What a number counts. An amount in another unit is converted. */
            unit?: string;
            /** @description A fixed value. It always wins. */
            value?: unknown;
            /**
             * @description Type of the values of a map. Default: any.
             * @enum {string}
             */
            valueType?: "string" | "integer" | "float" | "number" | "boolean";
        };
        /** @description A key of an app. */
        Key: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created: string;
            /**
             * Format: date-time
             * @description When it ends; missing if it does not.
             */
            expiresAt?: string;
            /** @description Names the key in lists; it is no credential. */
            keyId: components["schemas"]["Id"];
            /**
             * Format: date-time
             * @description When it was last used, exact to a minute; missing if it never was.
             */
            lastUsed?: string;
            /** @description The key that asked for it, and with which it ends; missing if it was the admin. */
            madeBy?: components["schemas"]["Id"];
            /** @description What the key is for, as it was given. */
            name?: string;
            /** @description What the key is good for. */
            scopes: ("tools" | "messages" | "triggers" | "app" | "tools:read" | "messages:read" | "triggers:read" | "app:read")[];
        };
        /** @description A page of keys, by id. */
        KeyList: {
            /** @description The page. */
            items: components["schemas"]["Key"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description A key of an app. */
        KeyRequest: {
            /**
             * @description How long it is valid, as 720h; at most ten years. Without it the key is valid until it is revoked.
             * @example 720h
             */
            expiresIn?: string;
            /** @description What it is for, for those who list keys. */
            name?: string;
            /** @description tools: repositories. messages: messages, sessions, session tokens and events. triggers: direct triggers, records, retries and events. app: the app and its keys. With :read at the end, it only reads these. */
            scopes: ("tools" | "messages" | "triggers" | "app" | "tools:read" | "messages:read" | "triggers:read" | "app:read")[];
        };
        /** @description A new key of an app, with the key itself. */
        MadeKey: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created: string;
            /**
             * Format: date-time
             * @description When it ends; missing if it does not.
             */
            expiresAt?: string;
            /** @description The key itself, shown this once. A credential. */
            key: string;
            /** @description Names the key in lists; it is no credential. */
            keyId: components["schemas"]["Id"];
            /**
             * Format: date-time
             * @description When it was last used, exact to a minute; missing if it never was.
             */
            lastUsed?: string;
            /** @description The key that asked for it, and with which it ends; missing if it was the admin. */
            madeBy?: components["schemas"]["Id"];
            /** @description What the key is for, as it was given. */
            name?: string;
            /** @description What the key is good for. */
            scopes: ("tools" | "messages" | "triggers" | "app" | "tools:read" | "messages:read" | "triggers:read" | "app:read")[];
        };
        /** @description A token for the front-end of one session. */
        MadeToken: {
            /**
             * Format: date-time
             * @description When it ends.
             */
            expiresAt: string;
            /** @description The token. A credential. */
            token: string;
        };
        /** @description One firing of a tool. */
        Match: {
            /** @description The call; missing if the tool has nothing to call. */
            call?: components["schemas"]["CallState"];
            /** @description Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it back. */
            digest?: string;
            /**
             * Format: date-time
             * @description Of a tool with settle: until when it can be taken back; its effects become due then.
             */
            dueAt?: string;
            /** @description The event of the tool's emitter; missing if it has none. */
            emitter?: components["schemas"]["EventState"];
            /** @description The event tool.trigger; missing if the tool is not to send it. */
            event?: components["schemas"]["EventState"];
            /**
             * Format: date-time
             * @description Of one that waits to be confirmed: when it ends as cancelled, without a word.
             */
            expiresAt?: string;
            /** @description The tool. */
            name: components["schemas"]["ToolName"];
            /** @description Of a duplicate: the trigger that had equal values before; call is that one's. */
            of?: components["schemas"]["Id"];
            /** @description Of one that waits to be confirmed: what the user is asked. */
            question?: string;
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["Id"];
            /** @description The result of the call is the reply itself. */
            returnDirect: boolean;
            /** @description The front-end should not answer by itself. */
            skipResponse: boolean;
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /**
             * @description After it has fired, the state of its effects. pending: one of them is not done, or it settles until dueAt. failed: one has failed for good. delivered: all are done. Otherwise draft: a draft that would fire. dry: the same in a dry run. confirming: it waits for a yes. cancelled: it ended without an effect. duplicate: the trigger in of, with equal values, stands for it.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "draft" | "dry" | "confirming" | "cancelled" | "duplicate";
            /** @description The trigger. It is webhook-id and Idempotency-Key of its call. */
            triggerId: components["schemas"]["Id"];
            /** @description Values of the tool's parameters, checked against all their rules. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description How many triggers matched. */
        Matched: {
            /** @description Their number. */
            triggers: number;
        };
        /** @description A JSON merge patch (RFC 7396) of an App: its fields that are to change. Null takes a field away, so that its default holds; objects are merged; lists are replaced whole. */
        MergePatch: {
            [key: string]: unknown;
        };
        /** @description A chat message. */
        Message: {
            /**
             * @description What an agent says is stored in the history, but not matched.
             * @enum {string}
             */
            actor: "user" | "agent";
            /** @description false: a draft, as an interim transcript. It is matched at once and fires nothing. Another text with the same messageId replaces it. Default: true. */
            final?: boolean | null;
            /** @description With dryRun=true only: what was said before, instead of the history of the session, oldest first. What these messages fired and were rejected for counts: calls that lack values, questions that wait for a yes, repositories that fire once. */
            history?: components["schemas"]["Earlier"][] | null;
            /** @description The language of the message (BCP 47, as de or de-AT). Default: that of the session, else of the app. */
            language?: string | null;
            /** @description Idempotency key: 1 to 128 printable characters without spaces. The service generates one if it is missing. */
            messageId?: string;
            /** @description Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the message, where it overrides that of the session. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description With dryRun=true only: the time of the message (RFC 3339). Default: now.
             */
            now?: string | null;
            /** @description What was said: not empty, at most 65536 bytes of UTF-8. */
            text: string;
            /** @description Where the user is, as Europe/Berlin. It decides what tomorrow and noon are. Default: that of the session, else of the app. */
            timeZone?: string | null;
            /** @description The user of the session: 1 to 128 printable characters. The first message with a user sets it for the session. Another user is refused with 409. Not with a session's token, nor with dryRun=true. */
            user?: string | null;
        };
        /** @description What the model answered. */
        ModelAnswer: {
            [key: string]: unknown;
        };
        /** @description An OAuth2 client of the app, by whose id and secret clients of SERMAS sign in as well. */
        Module: {
            /** @description Sent with the request for a token, if the service needs one. */
            audience?: string;
            /** @description The client's id. Default: the moduleId. */
            clientId?: string;
            /** @description Hosts where tools written with a key of scope tools may use the module, besides the host of its tokenUrl, on any port. *.clinic.example is every name one label below clinic.example. */
            hosts?: string[];
            /** @description Name of the module, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            moduleId: string;
            /** @description Scopes to ask for with the token. */
            scopes?: string[];
            /** @description The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            secret: string;
            /**
             * Format: uri
             * @description Where to get its tokens (OAuth2, grant client_credentials): an absolute http or https URL. Tools that call with the module need it. Clients of SERMAS do not.
             */
            tokenUrl?: string;
        };
        /** @description A trigger whose effects were kept back was moved. */
        Moved: {
            /**
             * @description What moved it: a yes, a no, three minutes without a word, the end of its time to settle, a cancel, or the user's next message.
             * @enum {string}
             */
            action: "confirm" | "deny" | "expire" | "release" | "cancel" | "retract";
            /** @description By whom: the id of a key, admin, session for a token, or message and the id of the one that said it; missing if it was the clock. */
            by?: string;
            /**
             * Format: date-time
             * @description When.
             */
            ts: string;
        };
        /** @description The attempt at a call that is under way, or comes next. */
        NextAttempt: {
            /**
             * Format: date-time
             * @description When it is due; missing if it has begun.
             */
            at?: string;
            /** @description Its number, from 1. */
            attempt: number;
            /** @description It has begun; missing if it has not. */
            underWay?: boolean;
        };
        /** @description An error in OpenAI's form. */
        OpenAIError: {
            /** @description What is wrong. */
            error: {
                /** @description What is wrong, for programs: as in a problem. */
                code: components["schemas"]["ProblemCode"];
                /** @description What is wrong and what to do, for people. */
                message: string;
                /** @description Always null. */
                param: string | null;
                /** @description Its kind: invalid_request_error, authentication_error, permission_error, rate_limit_error or server_error. */
                type: string;
            };
        };
        /** @description What waits in a session: a call that lacks values (one that messages have begun may be completed by the next message for ten minutes; one of an agent has a task), or a trigger that is to be confirmed, can still be taken back, or waits for an answer. */
        OpenCall: {
            /** @description The question for the first missing one, where its parameter has one. */
            ask?: string;
            /** @description Stands for app, session, tool and values: a confirmation names it. */
            digest?: string;
            /**
             * Format: date-time
             * @description When it waits no more.
             */
            expiresAt?: string;
            /** @description The parameters that have none. */
            missing: string[];
            /** @description The tool. */
            name: components["schemas"]["ToolName"];
            /** @description What the user is to be asked. */
            question?: string;
            /** @description The repository that has the tool; missing if an agent named none, and its tool is gone. */
            repositoryId?: components["schemas"]["Id"];
            /**
             * @description What it waits for: values, a confirmation, the end of the time in which it can be taken back, or an answer.
             * @enum {string}
             */
            state: "asking" | "confirming" | "settling" | "pending";
            /** @description The trigger, or the task of an agent that lacks values; missing of a call that messages have begun. */
            triggerId?: components["schemas"]["Id"];
            /** @description The values that were said and are valid. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description How the tools of a repository fire together. */
        Options: {
            /** @description If its tools and others match, only its tools fire, and no reply is made. Default: false. */
            exclusive?: boolean;
            /** @description Of a repository of an app: it is in no scope itself. A session gets a copy when it names its id in repositories. Default: false. */
            template?: boolean;
            /** @description The first of the tools to fire removes the repository. Default: false. */
            triggerOnce?: boolean;
        };
        /** @description A parameter in SERMAS form; not required unless it says so. */
        Parameter: {
            /** @description Other words for allowed values, by the value. An alias becomes that value, from users and programs. */
            aliases?: {
                [key: string]: string[];
            };
            /** @description A value must equal an entry, or match all of it as RE2. */
            allowedValues?: unknown[];
            /** @description What to ask a user if a call lacks it. */
            ask?: string;
            /** @description The value comes from a verified ID token: the claim of the first verified service of these. */
            authServices?: components["schemas"]["Claim"][];
            /** @description Used if no value is given. null is none. */
            default?: unknown;
            /** @description What the value is, for the model. */
            description?: string;
            /**
             * @description Puts the value between delimiters, and doubles a closing one inside it.
             * @enum {string}
             */
            escape?: "single-quotes" | "double-quotes" | "backticks" | "square-brackets";
            /** @description A value must not equal an entry, or match any part of it as RE2. */
            excludedValues?: unknown[];
            /**
             * @description The form of a string by ISO 8601. Words of users are converted to it.
             * @enum {string}
             */
            format?: "date" | "time" | "date-time" | "duration";
            /** @description A model's value for it must appear in the conversation. Default: false. */
            grounded?: boolean;
            /** @description Never shown to a model or filled by it. Default: false. */
            ignore?: boolean;
            /** @description What the members of an array are. */
            items?: components["schemas"]["Items"];
            /** @description Greatest value of a number. */
            maxValue?: number;
            /** @description Least value of a number. */
            minValue?: number;
            /** @description Name of the parameter. */
            parameter: string;
            /** @description true: the tool fires only with a value. Default: false. */
            required?: boolean;
            /**
             * @description What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items says of what) or map (an object whose values are all of valueType).
             * @enum {string}
             */
            type: "string" | "number" | "integer" | "float" | "boolean" | "object" | "array" | "map";
            /** @description What a number counts. An amount in another unit is converted. */
            unit?: string;
            /** @description A fixed value. It always wins. */
            value?: unknown;
            /**
             * @description Type of the values of a map. Default: any.
             * @enum {string}
             */
            valueType?: "string" | "integer" | "float" | "number" | "boolean";
        };
        /** @description Tools to add or override by name; options, where they are given, replace the options as a whole. */
        Patch: {
            /** @description The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            appId?: string;
            /** @description Ignored, so that an answer can be sent back. */
            readonly created?: string;
            /** @description Ignored, so that an answer can be sent back. */
            readonly notes?: string[];
            /** @description Replace the options as a whole. Without them, the options stay. */
            options?: components["schemas"]["Options"];
            /** @description The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            repositoryId?: string;
            /** @description The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            sessionId?: string;
            /** @description Tools to add. A tool of the same name is replaced. */
            tools?: components["schemas"]["Tool"][];
            /** @description Ignored, so that an answer can be sent back. */
            readonly updated?: string;
        };
        /** @description What a write would do, from ?dryRun=true. */
        Preview: {
            /** @description Of a repository: what its author may not expect. The write notes more. */
            notes?: string[];
            /**
             * @description What it would do. Credentials are compared as well.
             * @enum {string}
             */
            operation: "created" | "updated" | "unchanged";
            /** @description Of a repository: its tools as a model is shown them. */
            tools?: {
                /** @description Questions for required parameters, by their names. */
                asks?: {
                    [key: string]: string;
                };
                /** @description What a model sees of it: its description, and the first of its examples. */
                description: string;
                /** @description The JSON Schema of the values that a model may give. */
                inputSchema: {
                    [key: string]: unknown;
                };
                /** @description Name of the tool. */
                name: string;
            }[];
        };
        /** @description What went wrong (RFC 9457). */
        Problem: {
            /** @description What is wrong, for programs. */
            code: components["schemas"]["ProblemCode"];
            /** @description What is wrong this time, and the way out. */
            detail: string;
            /** @description Every error in a body at once, at most 100. */
            errors?: {
                /** @description The names or values that are taken there, at most 100. */
                allowed?: string[];
                /** @description What is wrong there, for programs. */
                code: components["schemas"]["FaultCode"];
                /** @description What is wrong there. */
                detail: string;
                /** @description JSON Pointer (RFC 6901) into the body; empty for the body as a whole. */
                pointer: string;
                /** @description The nearest of those that are taken. */
                suggestion?: string;
            }[];
            /** @description The limit that is reached, as the settings of the app name it. */
            limit?: string;
            /** @description What a message fired that was to be withdrawn as a draft. */
            matches?: components["schemas"]["Match"][];
            /** @description Of a message that is kept undecided: send it again under this id. */
            messageId?: string;
            /** @description Of /readyz, where verbose asks for them. */
            services?: components["schemas"]["ServiceState"][];
            /** @description Of a trigger whose state does not let it do what was asked for. */
            state?: string;
            /** @description The HTTP status. */
            status: number;
            /** @description The problem in short; the same for all of its type. */
            title: string;
            /**
             * @deprecated
             * @description The earlier name of matches, the same.
             */
            triggers?: components["schemas"]["Match"][];
            /**
             * Format: uri-reference
             * @description The kind of problem: about:blank if the status says it all, else the path of its description.
             */
            type: string;
        };
        /**
         * @description What is wrong, for programs. It stays the same for ever; a later version may have further ones.
         * @enum {string}
         */
        ProblemCode: "invalid_body" | "invalid_query" | "invalid_cursor" | "invalid_path" | "invalid_header" | "invalid_idempotency_key" | "idempotency_key_differs" | "max_tokens_exceeded" | "capability_missing" | "key_missing" | "key_invalid" | "key_expired" | "user_unverified" | "forbidden" | "scope_missing" | "origin_not_allowed" | "host_not_allowed" | "model_not_allowed" | "not_found" | "unknown_path" | "unknown_app" | "unknown_session" | "unknown_repository" | "unknown_tool" | "unknown_version" | "unknown_test" | "unknown_webhook" | "unknown_trigger" | "unknown_message" | "unknown_draft" | "unknown_key" | "unknown_module" | "not_explained" | "method_not_allowed" | "body_timeout" | "message_id_reused" | "draft_replaced" | "draft_decided" | "trigger_id_reused" | "trigger_ended" | "trigger_owes" | "digest_differs" | "no_answer_awaited" | "session_closed" | "session_of_another_user" | "in_use" | "precondition_failed" | "body_too_long" | "unsupported_media_type" | "invalid_values" | "limit_reached" | "scopes_exceeded" | "upgrade_required" | "rate_limited" | "sign_in_paused" | "streams_exceeded" | "internal_error" | "model_not_configured" | "message_undecided" | "model_unreachable" | "model_busy" | "issuer_unavailable" | "store_unavailable" | "store_full" | "events_unavailable" | "session_erasing" | "overloaded" | "not_ready" | "interrupted";
        /** @description The replica can work. */
        Ready: {
            /** @description Where verbose asks for them. */
            services?: components["schemas"]["ServiceState"][];
            /** @description ready. */
            status: string;
        };
        /**
         * @description auth: credentials are missing or refused. request: the call was refused or cannot be made. timeout: no answer came in time. blocked: the address may not be reached. outcome_unknown: it may have arrived, and must not be sent twice. cancelled: the waiting for an answer was ended.
         * @enum {string}
         */
        Reason: "auth" | "request" | "timeout" | "blocked" | "outcome_unknown" | "cancelled";
        /** @description The stored record of a trigger. */
        Record: {
            /** @description The app. */
            appId: components["schemas"]["Id"];
            /** @description Every attempt at its effects, the oldest first. */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description The call; missing if the tool has nothing to call. */
            call?: components["schemas"]["CallState"];
            /** @description Values that were changed in form, not in meaning. */
            coerced?: string[];
            /** @description Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it back. */
            digest?: string;
            /**
             * Format: date-time
             * @description Of a tool with settle: until when it can be taken back; its effects become due then.
             */
            dueAt?: string;
            /** @description The event of the tool's emitter; missing if it has none. */
            emitter?: components["schemas"]["EventState"];
            /** @description The event tool.trigger; missing if the tool is not to send it. */
            event?: components["schemas"]["EventState"];
            /** @description Where in the conversation each inferred value was said, by parameter; null for nowhere. */
            evidence?: {
                [key: string]: {
                    /** @description The message that says it; missing for the one that led here. */
                    messageId?: string;
                    /** @description The words that say it. */
                    words: string;
                } | null;
            };
            /**
             * Format: date-time
             * @description Of one that waits to be confirmed: when it ends as cancelled, without a word. Of one that waits for an answer: until when, if it is read alone.
             */
            expiresAt?: string;
            /** @description The message that caused it, if any. */
            messageId?: string;
            /** @description Metadata of the session, overridden by that of the message or direct trigger. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description What became of it while its effects were kept back, the oldest first. */
            moves?: components["schemas"]["Moved"][];
            /** @description The tool. */
            name: components["schemas"]["ToolName"];
            /** @description The attempt at its call that is under way, or comes next. Lists leave it out. */
            next?: components["schemas"]["NextAttempt"];
            /** @description Of a duplicate: the trigger that had equal values before; call is that one's. */
            of?: components["schemas"]["Id"];
            /** @description Of one that waits to be confirmed: what the user is asked. */
            question?: string;
            /** @description The model's arguments were not well-formed JSON. */
            repaired?: boolean;
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["Id"];
            /** @description The event tool.result, where it was given up: then the trigger has failed, although its other effects were delivered. */
            resultEvent?: components["schemas"]["EventState"];
            /** @description When what had failed, or the next attempt, was made due at once by hand. */
            retries?: components["schemas"]["Retried"][];
            /** @description The result of the call is the reply itself. */
            returnDirect: boolean;
            /** @description The tool's parameters as they were given: a list, or a JSON Schema object. */
            schema: unknown;
            /** @description The session, if any. */
            sessionId?: components["schemas"]["Id"];
            /** @description The front-end should not answer by itself. */
            skipResponse: boolean;
            /**
             * @description What fired it: a message, or a direct trigger of a ui, task or agent.
             * @enum {string}
             */
            source: "message" | "ui" | "task" | "agent";
            /**
             * @description pending while an effect is undelivered or not due yet, failed if one was given up, and otherwise delivered. confirming: it waits for a yes. cancelled: it ended without an effect. duplicate: another one with equal values stands for it.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "confirming" | "cancelled" | "duplicate";
            /** @description What that message said. */
            text?: string;
            /** @description The trigger. It is webhook-id and Idempotency-Key of its call. */
            triggerId: components["schemas"]["Id"];
            /**
             * Format: date-time
             * @description When it fired.
             */
            ts: string;
            /** @description Values of the tool's parameters, checked against all their rules. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description A page of trigger records. */
        RecordList: {
            /** @description The page. */
            items: components["schemas"]["Record"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
            /**
             * Format: date-time
             * @description Of a page that has room left and a next: how far it has looked. A search that finds little ends when it has taken 75 ms.
             */
            searchedUntil?: string;
        };
        /** @description A change of tools, and what it is tried on. Without repositories the tools are tried as they are. */
        Rehearsal: {
            /** @description How many of the last messages of users are tried: at most 1,000 by the rule-based matcher, and 50 by a model, which costs money. */
            messages?: number | null;
            /** @description The model that decides, as in settings.llm.tools, or default for the one of the app's messages. Without it the rule-based matcher decides, and no model is asked. */
            model?: string | null;
            /** @description The repositories of the app that would change, by their ids. */
            repositories?: {
                [key: string]: components["schemas"]["RehearsedRepository"];
            } | null;
            /** @description true for all tests of the app, or the names of some. */
            tests?: boolean | string[];
        };
        /** @description What it took to try all messages and tests. */
        RehearsalCost: {
            /** @description The tokens of its answers. */
            completionTokens: number;
            /** @description Requests to a model. */
            modelRequests: number;
            /** @description The time, in milliseconds. */
            ms: number;
            /** @description How many tests passed. */
            passed: number;
            /** @description Their tokens, as far as the provider reports them. */
            promptTokens: number;
        };
        /** @description How many messages come out how. Each that was tried is one of the others. */
        RehearsalCounts: {
            /** @description A tool fires that did not. */
            fires: number;
            /** @description A tool no longer fires. */
            noLonger: number;
            /** @description The same tools fire, and another call lacks values. */
            otherRejection: number;
            /** @description Another tool fires in its place. */
            otherTool: number;
            /** @description The same tools fire, with other values. */
            otherValues: number;
            /** @description As before. */
            same: number;
            /** @description How many were tried. */
            tried: number;
            /** @description No model answered. */
            undecided: number;
        };
        /** @description What a change of tools would do. */
        RehearsalOutcome: {
            /** @description What the tools as they would be took to try. */
            after: components["schemas"]["RehearsalCost"];
            /** @description What the tools as they are took to try. */
            before: components["schemas"]["RehearsalCost"];
            /** @description The messages that come out otherwise, the newest first, as far as they fit in 1 MiB. */
            differing: components["schemas"]["DifferingMessage"][];
            /** @description How the messages that were tried come out. */
            messages: components["schemas"]["RehearsalCounts"];
            /** @description The model that decided; empty where the words did. */
            model: string;
            /** @description How many such messages are not listed; missing for none. */
            moreDiffering?: number;
            /** @description What else is to be known, in sentences. */
            notes: string[];
            /** @description What would become of each test. */
            tests: components["schemas"]["RehearsedTest"][];
        };
        /** @description A tool that fires. */
        RehearsedCall: {
            /** @description Its name. */
            name: string;
            /** @description Its repository. */
            repositoryId: components["schemas"]["Id"];
            /** @description Its values. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description A tool that is meant, and lacks values. */
        RehearsedRejection: {
            /** @description The parameters without a valid value. */
            missing: string[];
            /** @description Its name. */
            name: string;
            /** @description Its repository. */
            repositoryId: components["schemas"]["Id"];
        };
        /** @description What a repository would be: one of its versions, or a definition. */
        RehearsedRepository: {
            /** @description Its definition, as in the body of a PUT. */
            definition?: {
                [key: string]: unknown;
            } | null;
            /** @description The number of one of its versions. */
            version?: number | null;
        };
        /** @description What comes of a message. */
        RehearsedResult: {
            /** @description The tools that fire. */
            fired: components["schemas"]["RehearsedCall"][];
            /** @description The tools that are meant and lack values. */
            rejected: components["schemas"]["RehearsedRejection"][];
            /** @description How it came about, in a sentence. */
            why: string;
        };
        /** @description What would become of a test. */
        RehearsedTest: {
            /** @description With the tools as they would be. */
            after: components["schemas"]["TestReport"];
            /** @description With the tools as they are. */
            before: components["schemas"]["TestReport"];
            /** @description Its name. */
            name: string;
        };
        /** @description A tool that was called for and did not fire. */
        Rejected: {
            /** @description What to ask the user next: the question of the first parameter without a good value that has one. Missing if no such parameter has one. */
            ask?: string;
            /** @description Every error in the values. */
            errors: {
                /** @description What is wrong with its value. */
                detail: string;
                /** @description The parameter; empty for the values as a whole. */
                parameter: string;
            }[] | null;
            /** @description Required parameters without a value. */
            missing: string[] | null;
            /** @description The tool. */
            name: components["schemas"]["ToolName"];
            /** @description The repository that has the tool. */
            repositoryId: components["schemas"]["Id"];
            /** @description What is known of its values so far. */
            values: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A named group of tools: those of tools, or those of the MCP server that from names. */
        Repository: {
            /** @description The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            appId?: string;
            /** @description When it was created. Set by the service, ignored in a request. */
            readonly created?: string;
            /** @description Name of one of the app's sources of type mcp. The repository has the tools of its server, and follows their changes. */
            from?: string;
            /** @description What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request. */
            readonly notes?: string[];
            /** @description How its tools fire together. */
            options?: components["schemas"]["Options"];
            /** @description The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            repositoryId?: string;
            /** @description The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            sessionId?: string;
            /** @description The tools, with unique names. Required without from. With it they are those of its server, and ignored in a request. */
            tools?: components["schemas"]["Tool"][];
            /** @description When it was last changed. Set by the service, ignored in a request. */
            readonly updated?: string;
        };
        /** @description A page of repositories, by id. */
        RepositoryList: {
            /** @description The page. */
            items: components["schemas"]["StoredRepository"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description A write of a repository. */
        RepositoryVersion: {
            /** @description Who wrote it, as an entry of the audit list says it; empty where Earshot did, from a source. */
            by: string;
            /** @description The name of that key. */
            keyName?: string;
            /**
             * @description What the write did.
             * @enum {string}
             */
            operation: "created" | "updated" | "deleted" | "restored";
            /** @description The version that was written again. */
            restored?: number;
            /** @description How many tools it has. */
            tools: number;
            /**
             * Format: date-time
             * @description When it was written; missing of one that was there before versions were kept.
             */
            ts?: string;
            /** @description Its number, above that of each earlier one. */
            version: number;
            /** @description By which way, as an entry of the audit list says it. */
            via: string;
        };
        /** @description How the call is made. */
        Request: {
            /**
             * @description Default: what the given credentials say.
             * @enum {string}
             */
            auth?: "none" | "basic" | "bearer" | "module";
            /** @description User and password for auth basic (RFC 7617). */
            basic?: components["schemas"]["Basic"];
            /** @description An OAuth2 client of the tool's own, for auth bearer. */
            bearer?: components["schemas"]["Bearer"];
            /** @description Replaces the trigger event as the body. */
            body?: unknown;
            /** @description A note for people. */
            description?: string;
            /** @description Sent with every attempt as given, without values of parameters. Their values are credentials and read as ***. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description true: the call may be sent again if it is not known whether it arrived. false: it is never sent twice, and then ends as failed with the reason outcome_unknown. Default: true. */
            idempotent?: boolean;
            /**
             * @description GET, POST, PUT, PATCH or DELETE. Default: POST.
             * @example POST
             */
            method?: string;
            /** @description The app's module whose token is sent, for auth module: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            moduleId?: string;
            /**
             * @description As 15m; more than 0 and at most 24h. Default: 15m.
             * @example 15m
             */
            retryFor?: string;
            /**
             * @description As 10s; more than 0 and at most 60s. Default: 10s.
             * @example 10s
             */
            timeout?: string;
            /** @description The same as the tool's url. */
            url?: string;
        };
        /** @description What a webhook is sent again. */
        Resend: {
            /**
             * Format: date-time
             * @description The moment from which all events in the stream are sent again. Without it, those that did not arrive.
             */
            since?: string | null;
        };
        /** @description Whose access tokens are good at an MCP URL (RFC 9728). */
        ResourceMetadata: {
            /** @description Issuers whose tokens are good there. */
            authorization_servers: string[];
            /** @description How a token is sent: by header alone. */
            bearer_methods_supported: string[];
            /** @description The MCP URL, for which a token is to be. */
            resource: string;
            /** @description openid alone: what a user may do is not in a token's scopes. */
            scopes_supported: string[];
        };
        /** @description A request of the Responses API as OpenAI describes it. All fields go to the model; these are read here as well. */
        ResponseRequest: {
            /** @description What was said, as a text of the user or as items. The last message of the role user is matched. */
            input?: unknown;
            /** @description Its session_id names the session, where neither path nor header does. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The response that this one continues: the input has what is new since. */
            previous_response_id?: string | null;
            /** @description Names the session if nothing else does. */
            user?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A trigger that a message took back: it ends as cancelled. */
        Retracted: {
            /** @description The tool. */
            name: components["schemas"]["ToolName"];
            /** @description The trigger. */
            triggerId: string;
        };
        /** @description What has failed of a trigger, or its next attempt, was made due at once by hand. */
        Retried: {
            /** @description By whom: the id of a key, or admin. */
            by?: string;
            /**
             * Format: date-time
             * @description When.
             */
            ts: string;
        };
        /** @description A request or a notification of JSON-RPC 2.0, as the Model Context Protocol has them. Its headers Mcp-Protocol-Version, Mcp-Method and Mcp-Name repeat what it says, from revision 2026-07-28 on. */
        RpcRequest: {
            /** @description Names the request, and comes back with its answer. A notification has none. */
            id?: unknown;
            /**
             * @description The version of JSON-RPC.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description server/discover, tools/list, tools/call, subscriptions/listen, tasks/get, tasks/update or tasks/cancel; initialize before 2026-07-28. */
            method: string;
            /** @description The parameters of the method, with what the client says of itself in _meta. */
            params?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description The answer to a request of JSON-RPC 2.0: a result or an error. */
        RpcResponse: {
            /** @description Why there is no result. */
            error?: {
                /** @description As JSON-RPC and the Model Context Protocol have them: -32602 for what is not known or does not fit, -32020 for a header that says something else than the body. */
                code: number;
                /** @description More of it. */
                data?: unknown;
                /** @description In words. */
                message: string;
            };
            /** @description That of the request. */
            id?: unknown;
            /**
             * @description The version of JSON-RPC.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description What the method answers. */
            result?: {
                [key: string]: unknown;
            };
        };
        /** @description Something that was said in a session. */
        Said: {
            /**
             * @description Who said it.
             * @enum {string}
             */
            actor: "user" | "agent";
            /** @description The message. */
            messageId: string;
            /** @description What was said; of a long text its first 1,000 bytes. */
            text: string;
            /**
             * Format: date-time
             * @description When.
             */
            ts: string;
        };
        /** @description A tool in scope, as a model sees it. */
        ScopedTool: {
            /** @description What it does, as its author says. */
            description: string;
            /** @description JSON Schema 2020-12 of the values that a caller may give: without hidden, fixed and authenticated parameters. */
            inputSchema: {
                [key: string]: unknown;
            };
            /** @description Name of the tool. */
            name: string;
            /** @description Repository that the tool is in. */
            repositoryId: string;
        };
        /** @description A page of the tools in scope, by name. */
        ScopedToolList: {
            /** @description The tools, by name. */
            items: components["schemas"]["ScopedTool"][];
            /** @description Cursor of the next page; missing on the last. */
            next?: string;
        };
        /** @description What a call has sent, its credentials masked and long texts cut. Of many attempts at one call the first and the last have it. */
        Sent: {
            /** @description How the body begins, where the call was not delivered. */
            body?: string;
            /** @description The length of the body. */
            bytes: number;
            /** @description The headers of the tool and its source. */
            headers?: {
                [key: string]: string;
            };
            /** @description The HTTP method. */
            method: string;
            /** @description The URL without user and password. */
            url: string;
        };
        /** @description How a service behind a replica is. */
        ServiceState: {
            /** @description Its parts that are away. */
            away?: {
                /** @description shard of slot N: the master of a Redis Cluster that has this slot. */
                name: string;
                /** @description Why. */
                says: string;
            }[];
            /** @description redis, nats or this replica. */
            name: string;
            /** @description Why it is away. */
            says?: string;
            /**
             * @description partly: it is of use for some apps.
             * @enum {string}
             */
            state: "ready" | "partly" | "away";
        };
        /** @description A conversation. */
        Session: {
            /** @description The app. */
            appId: components["schemas"]["Id"];
            /**
             * Format: date-time
             * @description When it was used or put for the first time.
             */
            created?: string;
            /**
             * Format: date-time
             * @description When it ends, where expiresIn was put; else it lives for as long as it is used.
             */
            expiresAt?: string;
            /** @description How long it lives from its beginning, where that was put. */
            expiresIn?: string;
            /** @description What its user speaks (BCP 47), where that was put. */
            language?: string;
            /**
             * Format: date-time
             * @description When it was used last, by a message or otherwise; of a list by activity alone.
             */
            lastActive?: string;
            /**
             * Format: date-time
             * @description When its last message came; missing if it has none.
             */
            lastMessage?: string;
            /** @description The last message that has the text which was looked for; in a list by activity without one, the last of the user. */
            message?: components["schemas"]["Said"];
            /** @description What its client attached to it. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description All that waits, from any source. A list of sessions does not have it. */
            open?: components["schemas"]["OpenCall"][];
            /** @description What its messages came to, the last one first; of a list alone. */
            outcomes?: ("fired" | "rejected" | "unmatched")[];
            /** @description The templates that were copied into it. */
            repositories?: components["schemas"]["Id"][];
            /** @description The session. */
            sessionId: components["schemas"]["Id"];
            /** @description Where its user is (IANA), where that was put. */
            timeZone?: string;
            /** @description Whom the session is of, where that was said. */
            user?: string;
        };
        /** @description A page of sessions. */
        SessionList: {
            /** @description The page. */
            items: components["schemas"]["Session"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description What is known of a conversation in advance. It takes the place of what was put before. */
        SessionRequest: {
            /** @description As in the path. */
            appId?: string;
            /** @description How long the session lives from its beginning, used or not, as 2h; at most a year. Without it the session lives while it is used. */
            expiresIn?: string | null;
            /** @description What its user speaks (BCP 47, as de or de-AT). Default: that of the app. */
            language?: string | null;
            /** @description Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the session. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description Repositories of the app with options.template. Each is copied into the session, once. */
            repositories?: string[] | null;
            /** @description As in the path. */
            sessionId?: string;
            /** @description Where its user is, as Europe/Berlin. It decides what tomorrow and noon are. Default: that of the app. */
            timeZone?: string | null;
            /** @description The user of the session, for lists, exports and erasures: 1 to 128 printable characters. Without it, the user stays. Another user is refused with 409. */
            user?: string | null;
        };
        /** @description How messages of an app are matched and answered, and what it may use. */
        Settings: {
            /** @description Origins of pages that may call from a browser (CORS). * is every page. Default: none. */
            allowedOrigins?: string[];
            /** @description true: every stored message and every reply is an event chat.message, and a message that could not be decided an event chat.failed. Default: false. */
            chatEvents?: boolean;
            /** @description true: the model also writes a reply to each message, after a match from the tool's result. false: reply is null except for returnDirect. Default: false. */
            chatModeEnabled?: boolean;
            /** @description What the users speak (BCP 47, as de or de-AT), unless session or message says it. */
            language?: string;
            /** @description Limits that are missing have their defaults. null, or 0, removes one. null instead of the object removes all. */
            limits?: {
                /** @description Bytes that one session may store. All sessions of the app together may store a hundred times as much. What agents say is counted separately. Default: 4000000. */
                bytesPerMinute?: number | null;
                /** @description Messages of users and triggers by session tokens, of the whole app. Default: 12000. */
                messagesPerMinute?: number | null;
                /** @description Repositories of one session. Default: no limit. */
                repositoriesPerSession?: number | null;
                /** @description Drafts of one session. Default: 600. */
                sessionDraftsPerMinute?: number | null;
                /** @description The same, of one session. Default: 120. */
                sessionMessagesPerMinute?: number | null;
                /** @description Direct triggers of one session. Default: 120. */
                sessionTriggersPerMinute?: number | null;
                /** @description Tools in one repository. Default: no limit. */
                toolsPerRepository?: number | null;
                /** @description Direct triggers of the whole app. Default: 12000. */
                triggersPerMinute?: number | null;
            } | null;
            /** @description Which model is asked, and when. */
            llm?: {
                /** @description Tools in a request to the model. With more in scope, it gets those that fit the conversation, and a function to find the others in one more request. Default: 64. */
                mostTools?: number;
                /**
                 * @description provider/model, as openai/gpt-4o-mini.
                 * @example openai/gpt-4o-mini
                 */
                tools?: string;
                /**
                 * @description always: the model decides every message. unsure: if the rule-based matcher is certain, it decides, and the model is not asked. A text that equals an example of a tool without values never needs the model. Default: always.
                 * @enum {string}
                 */
                when?: "always" | "unsure";
            };
            /** @description How messages are matched where no model decides. */
            offline?: {
                /**
                 * @description The confidence threshold of the rule-based matcher. certain: rather no tool than a wrong one. likely: more messages fire a tool, and more of them a wrong one. Default: certain.
                 * @enum {string}
                 */
                bar?: "certain" | "likely";
                /**
                 * @description Which tools without confirm ask first when no model decides. irreversible: those named as moving money, ordering, deleting or ending a contract, without settle. always: all but read-only ones. Default: never.
                 * @enum {string}
                 */
                confirm?: "never" | "irreversible" | "always";
            };
            /** @description What is done with chats of clients that take this service for their model, at …/openai/v1. */
            openai?: {
                /** @description What the model may be asked for, at the operator's cost. */
                limits?: {
                    /** @description The longest answer, in tokens, of all choices (n) together. A request for more is refused. A request without a length gets this one. */
                    maxTokens?: number;
                    /** @description Models that clients may use. A * at the end stands for any rest, as in gpt-4o*. Default: all. */
                    models?: string[];
                    /** @description Requests of the whole app to the model a minute, over all replicas. Further ones are answered 429. Without it, or with null, the limits of messages apply to requests with a session's token. */
                    requestsPerMinute?: number | null;
                };
                /**
                 * @description watch: the model's answers are relayed unchanged, and what the user says is matched as well. act: the tools in scope are offered to the model with the client's own, and its calls of them are carried out here. Default: watch.
                 * @enum {string}
                 */
                mode?: "watch" | "act";
            };
            /** @description What the model learns about the app. */
            prompt?: {
                /** @description Comes before the conversation in every request to the model: who the assistant is, and how it speaks. */
                text?: string;
            };
            /** @description true: no reply is written after a match, whatever the tool says, and the answer has skipResponse true. Default: false. */
            skipToolResponse?: boolean;
            /** @description Where the users are (as Europe/Berlin), unless session or message says it. It decides what tomorrow and noon are. */
            timeZone?: string;
            /** @description URLs that events of the app are sent to. */
            webhooks?: components["schemas"]["Webhook"][];
        };
        /** @description The answer to a request over a socket. */
        SocketAnswer: {
            /** @description The body as in REST, also a problem, if there is one. */
            body?: unknown;
            /** @description ETag, Preference-Applied, Retry-After and X-Request-Id, where REST has them. */
            headers?: {
                [key: string]: string;
            };
            /** @description That of the request; missing if it could not be read. */
            id?: string;
            /** @description The status of HTTP. */
            status: number;
        };
        /** @description An event over a socket. */
        SocketEvent: {
            /** @description The payload, as the event stream has it. */
            data?: unknown;
            /** @description The first two words of the event's subject, as tool.trigger; or open, alive, token.expiring, token.expired. */
            event: string;
            /** @description Its place in the stream: a socket that is opened with it continues after the event. Events of the service itself have none, except open. */
            lastEventId?: string;
        };
        /** @description A request over the socket of a session: an operation, with the ids of its path that the socket's path has not. */
        SocketRequest: {
            /** @description The body, as in REST. */
            body?: unknown;
            /** @description Headers with the same meaning as in REST: Prefer, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate, and a user's ID token in {name}_token. */
            headers?: {
                [key: string]: string;
            };
            /** @description Returned in the answer: 1 to 128 characters. */
            id: string;
            /** @description The message, if the path has one. */
            messageId?: string;
            /** @description The query, as limit=10&order=desc. */
            query?: string;
            /** @description The repository, if the path has one. */
            repositoryId?: string;
            /**
             * @description The operation, by its name over NATS. If an app and a session both have it, it is that of the session.
             * @enum {string}
             */
            request: "answer" | "cancel" | "close-session" | "commit" | "confirm" | "create-repository" | "delete-repository" | "delete-tool" | "deny" | "explain" | "get-message" | "get-repository" | "get-session" | "get-trigger" | "message" | "messages" | "patch-repository" | "repositories" | "repository" | "retry" | "search-tools" | "session" | "sessions" | "token" | "tools" | "trigger" | "triggers" | "withdraw";
            /** @description The tool, if the path has one. */
            toolName?: string;
            /** @description The trigger, if the path has one. */
            triggerId?: string;
        };
        /** @description A database, an HTTP API or an MCP server that tools work on. postgres needs host, database and user; mysql needs host and user; sqlite needs database; http needs baseUrl; mcp needs url. */
        Source: {
            /** @description Of an mcp source: patterns of tool names, as find_*. Only tools that match one are used. Default: all tools. */
            allow?: string[];
            /** @description Of an mcp source: how requests to its server are authenticated. */
            auth?: components["schemas"]["SourceAuth"];
            /**
             * Format: uri
             * @description Of an http source. Paths of tools are resolved against it (RFC 3986) and stay under its path.
             */
            baseUrl?: string;
            /** @description Of a postgres or mysql source its name. Of a sqlite source the path of its file, in a folder that the operator has opened. */
            database?: string;
            /** @description Only false: certificates are always verified. */
            disableSslVerification?: boolean;
            /** @description Of an http or mcp source: sent with every request. Credentials among them read as ***. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Of a postgres or mysql source: a host name or an IP address. */
            host?: string;
            /** @description Name of the source, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            name: string;
            /** @description A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            password?: string;
            /** @description Of a postgres source, default 5432. Of a mysql source, default 3306. */
            port?: string | number;
            /** @description Of an http source: added to the query of every request. Of a postgres source: sslmode, application_name, search_path or timezone. Of a mysql source: tls, charset, collation, time_zone or parseTime. */
            queryParams?: {
                [key: string]: string;
            } | null;
            /**
             * @description Of a mysql source: Toolbox's name for timeout.
             * @example 10s
             */
            queryTimeout?: string;
            /** @description true: statements of a database source that change something fail, whatever a tool says. false lets tools of type execute-sql change things. Without it they run only queries, unless they say readOnly: false. */
            readOnly?: boolean;
            /** @description Of an mcp source: how often its server is asked for its tools, 5s to 24h. Default: 5m. */
            refresh?: string;
            /** @description Keeps the body of an answer that is not 2xx. Default: false. */
            returnFullError?: boolean;
            /**
             * @description For one attempt of its tools that set none: more than 0 and at most 60s.
             * @example 10s
             */
            timeout?: string;
            /** @description postgres, mysql, sqlite, http or mcp */
            type: string;
            /**
             * Format: uri
             * @description Of an mcp source: the URL of its server (Streamable HTTP), as https://crm.example/mcp.
             */
            url?: string;
            /** @description Of a postgres or mysql source: the user who connects. */
            user?: string;
        };
        /** @description One of basic, bearer and moduleId. */
        SourceAuth: {
            /** @description User and password (RFC 7617). */
            basic?: components["schemas"]["Basic"];
            /** @description An OAuth2 client. Its token is renewed before it ends, and once if it is refused. */
            bearer?: components["schemas"]["Bearer"];
            /** @description The module of the app whose token is sent: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            moduleId?: string;
        };
        /** @description The sources of an app. */
        SourceList: {
            /** @description The sources, by name. */
            items: components["schemas"]["SourceState"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description A source, and whether it can be reached. */
        SourceState: {
            /**
             * Format: date-time
             * @description When that was looked at.
             */
            checked?: string;
            /** @description Why it is not reached. */
            error?: string;
            /** @description Host and port; missing for a file. */
            host?: string;
            /** @description How long the connection took, in milliseconds. */
            ms?: number;
            /** @description Its name. */
            name: string;
            /** @description Whether it takes connections; missing for what was not looked at. */
            reachable?: boolean;
            /** @description Its type. */
            type: string;
        };
        /** @description How the service is. */
        Status: {
            /** @description alive. */
            status: string;
        };
        /** @description How many triggers are in a state. */
        Stock: {
            /** @description How many. */
            count: number;
            /**
             * Format: date-time
             * @description When the oldest of them fired; missing without any.
             */
            oldest?: string;
        };
        /** @description An app as it was put, credentials as ***. */
        StoredApp: {
            /** @description The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            appId: string;
            /** @description Issuers of ID tokens that are verified. A front-end sends a user's token in the header {name}_token. */
            authServices?: components["schemas"]["AuthService"][];
            /** @description OAuth2 clients of the app, with which its tools can authenticate calls. */
            modules?: components["schemas"]["Module"][];
            /** @description What people call it, as shown in lists. */
            name?: string;
            /** @description What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request. */
            readonly notes?: string[];
            /** @description How messages of the app are matched and answered, and its limits. */
            settings: components["schemas"]["Settings"];
            /** @description Signs calls (Standard Webhooks): whsec_ and base64, or 24 to 64 bytes in base64. While receivers change over, several with spaces between them. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            signingSecret?: string;
            /** @description Databases and APIs that tools of a type work on. */
            sources?: components["schemas"]["Source"][];
        };
        /** @description A repository as it was put, credentials as ***, with its times. */
        StoredRepository: {
            /** @description The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            appId: string;
            /** @description When it was created. Set by the service, ignored in a request. */
            readonly created?: string;
            /** @description Name of one of the app's sources of type mcp. The repository has the tools of its server, and follows their changes. */
            from?: string;
            /** @description What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request. */
            readonly notes?: string[];
            /** @description How its tools fire together. */
            options: components["schemas"]["Options"];
            /** @description The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            repositoryId: string;
            /** @description The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. */
            sessionId?: string;
            /** @description The tools, with unique names. Required without from. With it they are those of its server, and ignored in a request. */
            tools: components["schemas"]["Tool"][];
            /** @description When it was last changed. Set by the service, ignored in a request. */
            readonly updated?: string;
        };
        /** @description A test that an app keeps. */
        StoredTest: {
            /** @description Its name. */
            name: string;
            /** @description The expected conversation. */
            test: components["schemas"]["Test"];
            /**
             * Format: date-time
             * @description When it was written last.
             */
            updated: string;
        };
        /** @description A page of tests, by name. */
        StoredTestList: {
            /** @description The page. */
            items: components["schemas"]["StoredTest"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description An expected conversation, in the form of kind: test of files. */
        Test: {
            /** @description As in the path. */
            app?: string;
            /** @description What is said, and what it should fire. */
            chat: components["schemas"]["TestTurn"][];
            /** @description What the user speaks (BCP 47). */
            language?: string;
            /**
             * Format: date-time
             * @description The time of its messages (RFC 3339).
             */
            now?: string;
            /** @description Where the user is, as Europe/Berlin. */
            timeZone?: string;
            /** @description The tools in scope. */
            tools?: string[];
        };
        /** @description What came of a test. */
        TestReport: {
            /** @description Why its conversation could not be held to the end. */
            error?: string;
            /** @description Its name. */
            name: string;
            /** @description Whether it passed. */
            ok: boolean;
            /** @description How many messages came out as expected. */
            right: number;
            /** @description How many lack an effect that was expected. */
            silent: number;
            /** @description The messages that came out otherwise than expected. */
            turns: components["schemas"]["TestTurnReport"][];
            /** @description How many had an effect that was not expected. */
            wrong: number;
        };
        /** @description What is said, or what the message before should come to. One member may have both. */
        TestTurn: {
            /** @description What the agent says. */
            agent?: string;
            /** @description The expected result of the user's message: one of the objects {tool, values}, {rejected, missing} and {none: true}, or a list of them. */
            expect?: unknown;
            /** @description What the user says. */
            user?: string;
        };
        /** @description What came of a message of a test. */
        TestTurnReport: {
            /** @description The tools that fired, each with tool and values. */
            came: {
                [key: string]: unknown;
            }[];
            /** @description What was expected, as the test has it. */
            expected: {
                [key: string]: unknown;
            }[];
            /** @description The tools that its words are nearest to, each with tool and score. */
            near?: {
                [key: string]: unknown;
            }[];
            /** @description The tools that were meant, each with rejected and missing. */
            rejected: {
                [key: string]: unknown;
            }[];
            /** @description What the user says. */
            user: string;
            /**
             * @description How it came out.
             * @enum {string}
             */
            verdict: "right" | "wrong" | "silent" | "error";
            /** @description How it came about, in a sentence. */
            why: string;
        };
        /** @description A token for the front-end of one session. */
        TokenRequest: {
            /**
             * @description How long it is valid, as 30m; at most 24h. It also ends with its key, session and app. Default: 1h.
             * @example 30m
             */
            expiresIn?: string;
        };
        /** @description A tool that a user's words can fire. */
        Tool: {
            /** @description Hints of Toolbox for its clients. Ignored. */
            annotations?: {
                [key: string]: unknown;
            };
            /** @description Instead of a url: nothing is called, and a subscriber to the event answers. */
            answer?: {
                /**
                 * @description How long to wait for an answer, as 30s; more than 0 and at most 24h.
                 * @example 30s
                 */
                within: string;
            };
            /** @description Names of authServices. One of them must have verified the user, else the tool is not offered, and a direct trigger is refused with 401. */
            authRequired?: string[];
            /** @description Of an http tool: values of its requestBody. */
            bodyParams?: components["schemas"]["ToolboxParameter"][] | null;
            /** @description true: while a trigger settles, the user's next message cancels it. Needs settle. Default: false. */
            cancelOnNext?: boolean;
            /**
             * @description Whether a user must say yes before anything takes effect: each time, once in a session for the same values, or never. Default: never.
             * @enum {string}
             */
            confirm?: "always" | "once" | "never";
            /** @description Of triggers with equal values within a time, only one takes effect. The others are its duplicates. */
            dedupe?: {
                /** @description Names of the parameters to compare. Default: all values. */
                by?: string[] | null;
                /**
                 * @description Which triggers are compared: those of the session, or of the whole app. Default: session.
                 * @enum {string}
                 */
                scope?: "session" | "app";
                /**
                 * @description As 10m; more than 0 and at most 168h.
                 * @example 10m
                 */
                within: string;
            };
            /** @description What it is for, in the words of its users: the model and the rule-based matcher decide by it. */
            description?: string;
            /** @description resource.scope: the event also goes to app.{appId}.{resource}.{scope}. */
            emitter?: string;
            /** @description Texts that call for the tool. Values may be marked with their parameters: "a table for [two](people)". A message that equals an example of a tool without values fires it without a model. */
            examples?: string[];
            /** @description A tool as OpenAI and langchaingo define it, with type function: its name, description and parameters are those of the tool. The other fields are beside it. */
            function?: {
                /** @description What it is for. */
                description?: string;
                /** @description Name of the tool. */
                name?: string;
                /** @description A JSON Schema. Without it the tool has no parameters. */
                parameters?: {
                    [key: string]: unknown;
                } | null;
                /** @description Ignored: every value is checked. */
                strict?: boolean | null;
            } | null;
            /** @description Of an http tool: strings that are sent as headers of their names. */
            headerParams?: components["schemas"]["ToolboxParameter"][] | null;
            /** @description Of an http tool. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description The JSON Schema of parameters, as Anthropic calls it. */
            input_schema?: {
                [key: string]: unknown;
            } | null;
            /** @description The JSON Schema of parameters, as MCP calls it. */
            inputSchema?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Of an http tool: GET, POST, PUT, PATCH or DELETE.
             * @example POST
             */
            method?: string;
            /** @description Name of the tool: 1 to 64 of A-Z a-z 0-9 _ -. A tool called collect-user-message is the fallback: it fires with the text as value if nothing else matches. function may give the name instead. */
            name: string;
            /** @description Parameters in Toolbox form, or as a JSON Schema object. */
            parameters?: components["schemas"]["ToolboxParameter"][] | {
                [key: string]: unknown;
            };
            /** @description Of an http tool: resolved against the source's baseUrl; {{.name}} pastes pathParams, escaped, and {name} of a parameter is refused. */
            path?: string;
            /** @description Of an http tool: values of its path. */
            pathParams?: components["schemas"]["ToolboxParameter"][] | null;
            /** @description Of an http tool: added to the query under their names; a list repeats its name. */
            queryParams?: components["schemas"]["ToolboxParameter"][] | null;
            /** @description true: the tool changes nothing, so its record and its events are written after its answer. A SQL tool then runs only queries. false lets a tool of type execute-sql change things, unless its source is readOnly. */
            readOnly?: boolean;
            /** @description Of an mcp tool: its name at the server. Default: name. */
            remoteName?: string;
            /** @description How its url is called: method, credentials, times. Without it the call is an unauthenticated POST of the trigger event. */
            request?: components["schemas"]["Request"];
            /** @description Of an http tool: a template, JSON unless its Content-Type says otherwise. {{.name}} and {{json .name}} paste bodyParams, escaped for their place. {{json .}} is an object of all that have a value. */
            requestBody?: string;
            /** @description true: the result of the call is the reply itself, word for word; no model writes one. Default: false. */
            returnDirect?: boolean;
            /** @description Parameters in SERMAS form. An object is read as the JSON Schema of parameters, and returned as parameters. */
            schema?: components["schemas"]["Parameter"][] | null;
            /**
             * @description A delay, as 800ms, before the effects of a trigger. Until then it can be cancelled. More than 0 and at most 60s.
             * @example 800ms
             */
            settle?: string;
            /** @description true: no reply is made when this tool fires, and the answer has skipResponse true, so that a front-end says nothing by itself. Default: false. */
            skipResponse?: boolean;
            /** @description Name of one of the app's sources, of the type that the tool needs. */
            source?: string;
            /** @description Of a SQL tool: one statement. parameters are bound to $1 and so on, for mysql to ?, for sqlite also to ? and :name. {{.name}} and {{array .name}} paste templateParameters. */
            statement?: string;
            /** @description Ignored: every value is checked. */
            strict?: boolean | null;
            /** @description Parameters in Toolbox form that are pasted into the statement of a SQL tool, as their rules allow, where values cannot be bound: names of tables and columns. */
            templateParameters?: components["schemas"]["ToolboxParameter"][] | null;
            /** @description What the tool does with its source. postgres-sql, mysql-sql and sqlite-sql run its statement. postgres-execute-sql, mysql-execute-sql and sqlite-execute-sql run one that is a parameter. postgres-list-tables and mysql-list-tables describe the tables. http and mcp call. Without a type it fires an event and calls its url. */
            type?: string;
            /** @description Called when the tool fires. :param and :appId in path and query are replaced, and {param} is refused. A :param in the path is required, whatever its definition says. */
            url?: string;
        };
        /** @description A parameter in Toolbox form; required unless it says otherwise. */
        ToolboxParameter: {
            /** @description Other words for allowed values, by the value. An alias becomes that value, from users and programs. */
            aliases?: {
                [key: string]: string[];
            };
            /** @description A value must equal an entry, or match all of it as RE2. */
            allowedValues?: unknown[];
            /** @description What to ask a user if a call lacks it. */
            ask?: string;
            /** @description The value comes from a verified ID token: the claim of the first verified service of these. */
            authServices?: components["schemas"]["Claim"][];
            /** @description Used if no value is given. null is none. */
            default?: unknown;
            /** @description What the value is, for the model. */
            description: string;
            /**
             * @description Puts the value between delimiters, and doubles a closing one inside it.
             * @enum {string}
             */
            escape?: "single-quotes" | "double-quotes" | "backticks" | "square-brackets";
            /** @description A value must not equal an entry, or match any part of it as RE2. */
            excludedValues?: unknown[];
            /**
             * @description The form of a string by ISO 8601. Words of users are converted to it.
             * @enum {string}
             */
            format?: "date" | "time" | "date-time" | "duration";
            /** @description A model's value for it must appear in the conversation. Default: false. */
            grounded?: boolean;
            /** @description Never shown to a model or filled by it. Default: false. */
            ignore?: boolean;
            /** @description What the members of an array are. */
            items?: components["schemas"]["Items"];
            /** @description Greatest value of a number. */
            maxValue?: number;
            /** @description Least value of a number. */
            minValue?: number;
            /** @description Name of the parameter. */
            name: string;
            /** @description false: the tool also fires without a value. Default: true. */
            required?: boolean;
            /** @description Of bodyParams: required once another of them has a value. If none has one, no body is sent. Default: false. */
            requiredInBody?: boolean;
            /**
             * @description What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items says of what) or map (an object whose values are all of valueType).
             * @enum {string}
             */
            type: "string" | "number" | "integer" | "float" | "boolean" | "object" | "array" | "map";
            /** @description What a number counts. An amount in another unit is converted. */
            unit?: string;
            /** @description A fixed value. It always wins. */
            value?: unknown;
            /**
             * @description Type of the values of a map. Default: any.
             * @enum {string}
             */
            valueType?: "string" | "integer" | "float" | "number" | "boolean";
        };
        /** @description 1 to 64 of A-Z a-z 0-9 _ -. */
        ToolName: string;
        /** @description What a tool is looked for by. */
        ToolSearch: {
            /** @description The most tools to find. Default: 10. */
            limit?: number | null;
            /** @description What is to be done, in words: not empty, at most 65536 bytes of UTF-8. */
            text: string;
        };
        /** @description The use of a tool in the last 24 hours. */
        ToolUsage: {
            /** @description How often it fired. What waits for a yes or its time counts when it takes effect, a duplicate never. */
            fired: number;
            /** @description The hours in which it was used, the oldest first. */
            hours: components["schemas"]["HourOfUse"][];
            /** @description Its name. */
            name: components["schemas"]["ToolName"];
            /** @description How often it was called for with values missing or wrong. */
            rejected: number;
        };
        /** @description A page of used tools, by name. */
        ToolUsageList: {
            /** @description The page. */
            items: components["schemas"]["ToolUsage"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description What an app has used in some time. */
        Usage: {
            /** @description Those that failed. */
            callFailures: number;
            /** @description Attempts at calls of tools, each retry counted. */
            calls: number;
            /** @description Tokens of their answers. */
            completionTokens: number;
            /**
             * Format: date
             * @description The day, of UTC, where step is day.
             */
            day?: string;
            /** @description How long messages took from their arrival to their decision; missing without any. */
            decisionMs?: components["schemas"]["Durations"];
            /** @description Events that NATS took. */
            events: number;
            /** @description Those that fired a tool, or said yes or no to one. */
            matched: number;
            /** @description Messages of users that were decided. One that is sent again, and a dry run, is none. */
            messages: number;
            /** @description Requests that Earshot made to a model, to match or to reply. Dry runs and drafts have some, relayed chats none but those of their messages. */
            modelRequests: number;
            /** @description Tokens of these, as the models count them. */
            promptTokens: number;
            /** @description Those that called for tools with missing or wrong values, and fired none. */
            rejected: number;
            /** @description Tools that fired, by messages or directly. What waits for a yes or its time counts when it takes effect, a duplicate never. */
            triggers: number;
            /**
             * Format: date-time
             * @description When the minute, the hour or the day begins; missing of a total.
             */
            ts?: string;
            /** @description Those that called for nothing. */
            unmatched: number;
        };
        /** @description What an app has used, step by step. */
        UsageList: {
            /** @description The minutes, hours or days in which something was used, the oldest first. */
            items: components["schemas"]["Usage"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
            /** @description All of the time together, also what is on other pages. */
            total: components["schemas"]["Usage"];
        };
        /** @description A page of versions of a repository. */
        VersionList: {
            /** @description The page, the newest first. */
            items: components["schemas"]["RepositoryVersion"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description A URL of the app that its events are sent to. */
        Webhook: {
            /** @description Name of the webhook: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. A new name is a new webhook, which starts with new events. */
            name: string;
            /** @description Signs what is sent (Standard Webhooks): whsec_ and base64. While the receiver changes over, several with spaces between them. Default: signingSecret of the app. A credential. Never returned: reads as ***; *** sent back keeps what is stored. */
            secret?: string;
            /**
             * @description disabled: nothing is sent. When it is enabled again, it continues where it stopped. Default: enabled.
             * @enum {string}
             */
            state?: "enabled" | "disabled";
            /** @description Which events are sent, by the first two words of their subjects: tool.trigger, .result, .rejected, .notmatching, .confirm, .cancelled, .duplicate, .changed or .webhook, chat.message or .failed. Default: all. */
            types?: string[];
            /**
             * Format: uri
             * @description Where events are posted: an absolute http or https URL. Redirects are not followed.
             */
            url: string;
        };
        /** @description An event that did not arrive at a webhook. */
        WebhookDelivery: {
            /** @description How often it was sent. */
            attempts: number;
            /** @description The event: webhook-id of each attempt. */
            eventId: string;
            /**
             * Format: date-time
             * @description When it was sent first.
             */
            firstAt: string;
            /**
             * Format: date-time
             * @description When it is sent again; missing if it has failed.
             */
            nextAt?: string;
            /** @description Its session; missing without one. */
            sessionId?: components["schemas"]["Id"];
            /**
             * @description Whether it is sent again.
             * @enum {string}
             */
            state: "waiting" | "failed";
            /** @description What was answered last; missing if nothing was. */
            status?: number;
            /**
             * Format: date-time
             * @description When it was decided.
             */
            ts: string;
            /** @description What it is, as tool.trigger. */
            type: string;
        };
        /** @description A page of events that did not arrive. */
        WebhookDeliveryList: {
            /** @description The page, the oldest event first. */
            items: components["schemas"]["WebhookDelivery"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description The webhooks of an app. */
        WebhookList: {
            /** @description The webhooks, by name. */
            items: components["schemas"]["WebhookStatus"][];
            /** @description Cursor of the next page, to be sent as after; missing on the last. */
            next?: string;
        };
        /** @description A webhook, and how it fares. */
        WebhookStatus: {
            /** @description How many events have arrived. */
            delivered: number;
            /**
             * Format: date-time
             * @description When Earshot has disabled it.
             */
            disabledAt?: string;
            /** @description How many were given up. */
            failed: number;
            /**
             * Format: date-time
             * @description When the first of the failures was after which nothing has arrived.
             */
            failingSince?: string;
            /** @description How many went from the stream, by age or erasure, before they could be sent again. */
            gone: number;
            /**
             * Format: date-time
             * @description When an event arrived last.
             */
            lastDeliveredAt?: string;
            /** @description Its name. */
            name: string;
            /** @description Why Earshot has disabled it. */
            reason?: string;
            /**
             * Format: date-time
             * @description When it was added.
             */
            since?: string;
            /**
             * @description failing: nothing has arrived since the last failure. disabled: by the app, or by Earshot, which gives a reason.
             * @enum {string}
             */
            state: "enabled" | "failing" | "disabled";
            /** @description Which events are sent; empty for all. */
            types: string[];
            /** @description Where events are posted. */
            url: string;
            /** @description How many are to be sent again. */
            waiting: number;
        };
        /** @description A version with its definition. */
        WholeVersion: {
            /** @description Who wrote it. */
            by: string;
            /** @description The repository, masked; null where the write has deleted it. */
            definition: components["schemas"]["StoredRepository"] | null;
            /** @description The name of that key. */
            keyName?: string;
            /**
             * @description What the write did.
             * @enum {string}
             */
            operation: "created" | "updated" | "deleted" | "restored";
            /** @description The version that was written again. */
            restored?: number;
            /** @description How many tools it has. */
            tools: number;
            /**
             * Format: date-time
             * @description When it was written.
             */
            ts?: string;
            /** @description Its number. */
            version: number;
            /** @description By which way. */
            via: string;
        };
    };
    responses: {
        /** @description The tool has fired. */
        Fired: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Match"];
            };
        };
        /** @description It is what If-None-Match names. */
        NotModified: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description An error of this service, in OpenAI's form. */
        OpenAIRefusal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OpenAIError"];
            };
        };
        /** @description Refused. */
        Refused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The result, or an error. An open subscription is a stream of notifications, each a server-sent event. */
        Rpc: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RpcResponse"];
                "text/event-stream": string;
            };
        };
    };
    parameters: {
        /** @description A session token, for a browser's EventSource, which sends no Authorization. */
        access_token: string;
        /** @description Entries of this action alone. */
        action: "trigger.confirm" | "trigger.deny" | "trigger.cancel" | "trigger.retry" | "trigger.remove" | "triggers.retry" | "triggers.purge" | "session.erase" | "user.erase" | "key.create" | "key.revoke" | "app.change" | "app.delete" | "repository.change" | "repository.delete" | "tool.delete" | "webhook.resend";
        /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
        after: string;
        /** @description The app. */
        appId: components["schemas"]["Id"];
        /**
         * @description Entries of who did it alone, as an entry says it.
         * @example k7c2
         */
        by: string;
        /** @description Only deliveries that wait to be sent again, or that have failed. */
        deliveryState: "waiting" | "failed";
        /** @description With true nothing is stored or done; the answer says what would be. */
        dryRun: boolean;
        /** @description With true nothing of it is left: records, pending effects and events are removed as well. */
        erase: boolean;
        /** @description With true the answer says why, as explain. Not with a token of a session: 403. */
        explain: boolean;
        /** @description Name of the file, as the page has it. */
        file: string;
        /** @description With true the app may lose modules and sources that tools name; their calls fail from then on. Without it that is refused with 409, which names the tools. */
        force: boolean;
        /**
         * @description The first day, of UTC; 29 days before the last one by default.
         * @example 2026-11-01
         */
        from: string;
        /**
         * @description The id of the message, or of the trigger, where the body has none: one that was sent before fires nothing. A body with another one is refused.
         * @example turn-17
         */
        "Idempotency-Key": string;
        /**
         * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
         * @example "JBSWY3DPEHPK3PXP"
         */
        "If-Match": string;
        /**
         * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
         * @example *
         */
        "If-None-Match": string;
        /** @description The key. */
        keyId: components["schemas"]["Id"];
        /** @description The id of the last event that was seen: what follows it comes first. */
        "Last-Event-ID": string;
        /** @description The same as Last-Event-ID, for a browser's EventSource that is made anew and can set no header. Where both are given the header holds. */
        lastEventId: string;
        /** @description Most items of a page. A page ends at 1 MiB as well. */
        limit: number;
        /**
         * @description The message, as its client or the service has named it.
         * @example m1
         */
        messageId: string;
        /**
         * @description Only sessions whose metadata has these members: metadata[visitor]=v-17, or metadata.visitor=v-17.
         * @example {
         *       "visitor": "v-17"
         *     }
         */
        metadata: {
            [key: string]: string;
        };
        /**
         * @description The model, as the endpoint behind names it; a slash in it is written %2F.
         * @example gpt-4o-mini
         */
        modelId: string;
        /** @description Only what is of the tool of this name. */
        name: components["schemas"]["ToolName"];
        /** @description Only triggers of this message. */
        ofMessage: string;
        /** @description Only triggers of this session, also those from before it was closed, unless it is in use again. */
        ofSession: components["schemas"]["Id"];
        /** @description Only triggers that this source fired. */
        ofSource: "message" | "ui" | "task" | "agent";
        /**
         * @description Only sessions of this user.
         * @example ada
         */
        ofUser: string;
        /** @description desc: the newest first; asc: the oldest. Without it triggers come newest first, and messages oldest first. */
        order: "asc" | "desc";
        /** @description Only sessions of which a message fired, was rejected, or called for nothing (unmatched), or that have a trigger which waits for a confirmation or has failed. */
        outcome: "fired" | "rejected" | "unmatched" | "confirming" | "failed";
        /**
         * @description The rest of the path, without its first slash: that of an MCP URL, or of a page of the documents.
         * @example v1/apps/clinic/mcp
         */
        path: string;
        /**
         * @description respond-async: answer 202 as soon as the message is stored (RFC 7240).
         * @example respond-async
         */
        Prefer: string;
        /** @description Only triggers whose call was not delivered for this reason. */
        reason: components["schemas"]["Reason"];
        /** @description The repository, unique in its app or session. */
        repositoryId: components["schemas"]["Id"];
        /** @description The session. */
        sessionId: components["schemas"]["Id"];
        /** @description id, or activity: the session that was used last first. usedSince and usedBefore are about that use then. */
        sessionOrder: "id" | "activity";
        /** @description Only sessions in this state: waiting, where something is open, or idle. */
        sessionState: "waiting" | "idle";
        /**
         * @description Only what has this time or a later one (RFC 3339).
         * @example 2026-12-01T09:00:00Z
         */
        since: string;
        /** @description Only triggers in this state. */
        state: "pending" | "delivered" | "failed" | "confirming" | "cancelled" | "duplicate";
        /** @description The steps that are listed: minutes, of the last 3 hours; hours, of 14 days; or days, of 400. */
        step: "minute" | "hour" | "day";
        /**
         * @description The name of a test: a line of 1 to 128 characters.
         * @example a cold caller
         */
        testName: string;
        /**
         * @description Only sessions in which somebody said this, whatever the case of its letters, among the last 200 messages of each.
         * @example friday
         */
        text: string;
        /**
         * @description The last day, of UTC; today by default.
         * @example 2026-11-30
         */
        to: string;
        /** @description The tool, by its name in the repository. */
        toolName: components["schemas"]["ToolName"];
        /** @description search shows two tools in place of all: one that finds tools, and one that calls them. */
        tools: "search";
        /** @description The trigger. */
        triggerId: components["schemas"]["Id"];
        /**
         * @description Only what has an earlier time than this (RFC 3339).
         * @example 2026-12-02T09:00:00Z
         */
        until: string;
        /** @description Only sessions last used before that. */
        usedBefore: string;
        /** @description Only sessions used then or later, by the last message. */
        usedSince: string;
        /**
         * @description The user, as sessions and messages name it.
         * @example ada
         */
        user: string;
        /**
         * @description Only triggers of which a value has this text in it, whatever the case of its letters.
         * @example friday
         */
        value: string;
        /**
         * @description How each service is, in its own words; false: no.
         * @example true
         */
        verbose: string;
        /**
         * @description The number of a version.
         * @example 3
         */
        version: number;
        /** @description The webhook, by its name in settings.webhooks. */
        webhookName: components["schemas"]["Id"];
        /**
         * @description The session, where the path names none.
         * @example s1
         */
        "X-Earshot-Session": string;
    };
    requestBodies: never;
    headers: {
        /** @description What is read in its place. */
        Accept: string;
        /** @description What is read in its place. */
        "Accept-Encoding": string;
        /** @description How long it may be kept. */
        "Cache-Control": string;
        /** @description Names this state: each write makes another. Sent back as If-Match, it keeps a write from undoing another's. */
        ETag: string;
        /** @description Path under which it is to be read. */
        Location: string;
        /** @description respond-async. */
        "Preference-Applied": string;
        /** @description Seconds to wait before the request is sent again. */
        "Retry-After": number;
        /** @description How to authenticate (RFC 6750). */
        "WWW-Authenticate": string;
        /** @description The id of the user's last message in the session's history; missing if nothing was matched. */
        "X-Earshot-Message-Id": string;
        /** @description Names the request, as the log does: what the request itself has under this name, if it is 1 to 128 signs of A-Z a-z 0-9 . _ -, else a fresh one. */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listApps: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of apps, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The app. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredApp"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    putApp: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
                /** @description With true the app may lose modules and sources that tools name; their calls fail from then on. Without it that is refused with 409, which names the tools. */
                force?: components["parameters"]["force"];
            };
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["App"];
            };
        };
        responses: {
            /** @description Replaced; with dryRun what would be done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredApp"] | components["schemas"]["Preview"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredApp"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    patchApp: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
                /** @description With true the app may lose modules and sources that tools name; their calls fail from then on. Without it that is refused with 409, which names the tools. */
                force?: components["parameters"]["force"];
            };
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergePatch"];
                "application/merge-patch+json": components["schemas"]["MergePatch"];
            };
        };
        responses: {
            /** @description Changed; with dryRun what would be done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredApp"] | components["schemas"]["Preview"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Entries of this action alone. */
                action?: components["parameters"]["action"];
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /**
                 * @description Entries of who did it alone, as an entry says it.
                 * @example k7c2
                 */
                by?: components["parameters"]["by"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getBacklog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What there is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backlog"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    followApp: {
        parameters: {
            query?: {
                /** @description The same as Last-Event-ID, for a browser's EventSource that is made anew and can set no header. Where both are given the header holds. */
                lastEventId?: components["parameters"]["lastEventId"];
            };
            header?: {
                /** @description The id of the last event that was seen: what follows it comes first. */
                "Last-Event-ID"?: components["parameters"]["Last-Event-ID"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyRequest"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The key. */
                keyId: components["parameters"]["keyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    rehearse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rehearsal"];
            };
        };
        responses: {
            /** @description What differs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RehearsalOutcome"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAppRepositories: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of repositories, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RepositoryList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postAppRepository: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Repository"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getAppRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The repository. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    putAppRepository: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Repository"];
            };
        };
        responses: {
            /** @description Replaced; with dryRun what would be done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"] | components["schemas"]["Preview"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteAppRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    patchAppRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Patch"];
            };
        };
        responses: {
            /** @description Changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteAppTool: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The tool, by its name in the repository. */
                toolName: components["parameters"]["toolName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    listVersions: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /**
                 * @description The number of a version.
                 * @example 3
                 */
                version: components["parameters"]["version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeVersion"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    restoreVersion: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /**
                 * @description The number of a version.
                 * @example 3
                 */
                version: components["parameters"]["version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Restored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            /** @description Restored; it had been deleted. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /**
                 * @description Only sessions whose metadata has these members: metadata[visitor]=v-17, or metadata.visitor=v-17.
                 * @example {
                 *       "visitor": "v-17"
                 *     }
                 */
                metadata?: components["parameters"]["metadata"];
                /** @description id, or activity: the session that was used last first. usedSince and usedBefore are about that use then. */
                order?: components["parameters"]["sessionOrder"];
                /** @description Only sessions of which a message fired, was rejected, or called for nothing (unmatched), or that have a trigger which waits for a confirmation or has failed. */
                outcome?: components["parameters"]["outcome"];
                /** @description Only sessions in this state: waiting, where something is open, or idle. */
                state?: components["parameters"]["sessionState"];
                /**
                 * @description Only sessions in which somebody said this, whatever the case of its letters, among the last 200 messages of each.
                 * @example friday
                 */
                text?: components["parameters"]["text"];
                /** @description Only sessions last used before that. */
                usedBefore?: components["parameters"]["usedBefore"];
                /** @description Only sessions used then or later, by the last message. */
                usedSince?: components["parameters"]["usedSince"];
                /**
                 * @description Only sessions of this user.
                 * @example ada
                 */
                user?: components["parameters"]["ofUser"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of sessions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    putSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionRequest"];
            };
        };
        responses: {
            /** @description Replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Created: it was neither used nor put before. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    closeSession: {
        parameters: {
            query?: {
                /** @description With true nothing of it is left: records, pending effects and events are removed as well. */
                erase?: components["parameters"]["erase"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session is closed, or nothing of it is left. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    followSession: {
        parameters: {
            query?: {
                /** @description A session token, for a browser's EventSource, which sends no Authorization. */
                access_token?: components["parameters"]["access_token"];
                /** @description The same as Last-Event-ID, for a browser's EventSource that is made anew and can set no header. Where both are given the header holds. */
                lastEventId?: components["parameters"]["lastEventId"];
            };
            header?: {
                /** @description The id of the last event that was seen: what follows it comes first. */
                "Last-Event-ID"?: components["parameters"]["Last-Event-ID"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    exportSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All that is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description desc: the newest first; asc: the oldest. Without it triggers come newest first, and messages oldest first. */
                order?: components["parameters"]["order"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the history. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postMessage: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
                /** @description With true the answer says why, as explain. Not with a token of a session: 403. */
                explain?: components["parameters"]["explain"];
            };
            header?: {
                /**
                 * @description The id of the message, or of the trigger, where the body has none: one that was sent before fires nothing. A body with another one is refused.
                 * @example turn-17
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
                /**
                 * @description respond-async: answer 202 as soon as the message is stored (RFC 7240).
                 * @example respond-async
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Message"];
            };
        };
        responses: {
            /** @description What the message fired. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answer"];
                };
            };
            /** @description The message is stored; its outcome comes as events and stands in the history. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The message, as its client or the service has named it.
                 * @example m1
                 */
                messageId: components["parameters"]["messageId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message, with what it fired. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    withdrawMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The message, as its client or the service has named it.
                 * @example m1
                 */
                messageId: components["parameters"]["messageId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is taken back. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    commitMessage: {
        parameters: {
            query?: {
                /** @description With true the answer says why, as explain. Not with a token of a session: 403. */
                explain?: components["parameters"]["explain"];
            };
            header?: {
                /**
                 * @description respond-async: answer 202 as soon as the message is stored (RFC 7240).
                 * @example respond-async
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The message, as its client or the service has named it.
                 * @example m1
                 */
                messageId: components["parameters"]["messageId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the message fired. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answer"];
                };
            };
            /** @description The message is stored; its outcome comes as events and stands in the history. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    explainMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The message, as its client or the service has named it.
                 * @example m1
                 */
                messageId: components["parameters"]["messageId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Stage, candidates, requests to the model with its raw answers, and what became of each call. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessionRepositories: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of repositories, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RepositoryList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postSessionRepository: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Repository"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getSessionRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The repository. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    putSessionRepository: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Repository"];
            };
        };
        responses: {
            /** @description Replaced; with dryRun what would be done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"] | components["schemas"]["Preview"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteSessionRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    patchSessionRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
                /**
                 * @description Of a write, *: create only, and never replace. Of a read, the ETag of what is known: if it is unchanged, the answer is 304.
                 * @example *
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Patch"];
            };
        };
        responses: {
            /** @description Changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRepository"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteSessionTool: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what was read: if it was changed since, nothing is done and the answer is 412. Several are separated by commas; * stands for whatever is there.
                 * @example "JBSWY3DPEHPK3PXP"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The repository, unique in its app or session. */
                repositoryId: components["parameters"]["repositoryId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The tool, by its name in the repository. */
                toolName: components["parameters"]["toolName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    openSocket: {
        parameters: {
            query?: {
                /** @description A session token, for a browser's EventSource, which sends no Authorization. */
                access_token?: components["parameters"]["access_token"];
                /** @description The same as Last-Event-ID, for a browser's EventSource that is made anew and can set no header. Where both are given the header holds. */
                lastEventId?: components["parameters"]["lastEventId"];
            };
            header?: {
                /** @description The id of the last event that was seen: what follows it comes first. */
                "Last-Event-ID"?: components["parameters"]["Last-Event-ID"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A WebSocket, with these frames from the service. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SocketAnswer"] | components["schemas"]["SocketEvent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeToken"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessionTools: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScopedToolList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    searchSessionTools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolSearch"];
            };
        };
        responses: {
            /** @description The tools that were found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundToolList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessionTriggers: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description Only triggers of this message. */
                messageId?: components["parameters"]["ofMessage"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
                /** @description desc: the newest first; asc: the oldest. Without it triggers come newest first, and messages oldest first. */
                order?: components["parameters"]["order"];
                /** @description Only triggers whose call was not delivered for this reason. */
                reason?: components["parameters"]["reason"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /** @description Only triggers that this source fired. */
                source?: components["parameters"]["ofSource"];
                /** @description Only triggers in this state. */
                state?: components["parameters"]["state"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
                /**
                 * @description Only triggers of which a value has this text in it, whatever the case of its letters.
                 * @example friday
                 */
                value?: components["parameters"]["value"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of trigger records. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    fireInSession: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The id of the message, or of the trigger, where the body has none: one that was sent before fires nothing. A body with another one is refused.
                 * @example turn-17
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Direct"];
            };
        };
        responses: {
            201: components["responses"]["Fired"];
            default: components["responses"]["Refused"];
        };
    };
    listSources: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the sources. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listTests: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tests. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredTestList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The name of a test: a line of 1 to 128 characters.
                 * @example a cold caller
                 */
                testName: components["parameters"]["testName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The test. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredTest"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    putTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The name of a test: a line of 1 to 128 characters.
                 * @example a cold caller
                 */
                testName: components["parameters"]["testName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Test"];
            };
        };
        responses: {
            /** @description Replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredTest"];
                };
            };
            /** @description Kept. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredTest"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The name of a test: a line of 1 to 128 characters.
                 * @example a cold caller
                 */
                testName: components["parameters"]["testName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    listAppTools: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScopedToolList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    searchAppTools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolSearch"];
            };
        };
        responses: {
            /** @description The tools that were found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundToolList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listToolUsage: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolUsageList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listTriggers: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description Only triggers of this message. */
                messageId?: components["parameters"]["ofMessage"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
                /** @description desc: the newest first; asc: the oldest. Without it triggers come newest first, and messages oldest first. */
                order?: components["parameters"]["order"];
                /** @description Only triggers whose call was not delivered for this reason. */
                reason?: components["parameters"]["reason"];
                /** @description Only triggers of this session, also those from before it was closed, unless it is in use again. */
                session?: components["parameters"]["ofSession"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /** @description Only triggers that this source fired. */
                source?: components["parameters"]["ofSource"];
                /** @description Only triggers in this state. */
                state?: components["parameters"]["state"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
                /**
                 * @description Only triggers of which a value has this text in it, whatever the case of its letters.
                 * @example friday
                 */
                value?: components["parameters"]["value"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of trigger records. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    fireInApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The id of the message, or of the trigger, where the body has none: one that was sent before fires nothing. A body with another one is refused.
                 * @example turn-17
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Direct"];
            };
        };
        responses: {
            201: components["responses"]["Fired"];
            default: components["responses"]["Refused"];
        };
    };
    purgeTriggers: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
                /** @description Only triggers of this message. */
                messageId?: components["parameters"]["ofMessage"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
                /** @description Only triggers whose call was not delivered for this reason. */
                reason?: components["parameters"]["reason"];
                /** @description Only triggers of this session, also those from before it was closed, unless it is in use again. */
                session?: components["parameters"]["ofSession"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /** @description Only triggers that this source fired. */
                source?: components["parameters"]["ofSource"];
                /** @description Only triggers in this state. */
                state?: components["parameters"]["state"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
                /**
                 * @description Only triggers of which a value has this text in it, whatever the case of its letters.
                 * @example friday
                 */
                value?: components["parameters"]["value"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many were removed, or would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matched"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    removeTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    answerTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Given"];
            };
        };
        responses: {
            /** @description The record, with the answer that holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    cancelTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was cancelled before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            /** @description It is cancelled. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    confirmTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Confirmation"];
            };
        };
        responses: {
            /** @description It was confirmed before; nothing happened again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            /** @description It was let go; the record says how far its effects are. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    denyTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Denial"];
            };
        };
        responses: {
            /** @description It was denied before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            /** @description It is cancelled. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Record"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    retryTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The trigger. */
                triggerId: components["parameters"]["triggerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What had failed is due again, and so is a call that waited for its next attempt. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    retryTriggers: {
        parameters: {
            query?: {
                /** @description With true nothing is stored or done; the answer says what would be. */
                dryRun?: components["parameters"]["dryRun"];
                /** @description Only triggers of this message. */
                messageId?: components["parameters"]["ofMessage"];
                /** @description Only what is of the tool of this name. */
                name?: components["parameters"]["name"];
                /** @description Only triggers whose call was not delivered for this reason. */
                reason?: components["parameters"]["reason"];
                /** @description Only triggers of this session, also those from before it was closed, unless it is in use again. */
                session?: components["parameters"]["ofSession"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /** @description Only triggers that this source fired. */
                source?: components["parameters"]["ofSource"];
                /** @description Only triggers in this state. */
                state?: components["parameters"]["state"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
                /**
                 * @description Only triggers of which a value has this text in it, whatever the case of its letters.
                 * @example friday
                 */
                value?: components["parameters"]["value"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many would be due again, of a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matched"];
                };
            };
            /** @description How many are due again. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matched"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listUsage: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /**
                 * @description The first day, of UTC; 29 days before the last one by default.
                 * @example 2026-11-01
                 */
                from?: components["parameters"]["from"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /** @description The steps that are listed: minutes, of the last 3 hours; hours, of 14 days; or days, of 400. */
                step?: components["parameters"]["step"];
                /**
                 * @description The last day, of UTC; today by default.
                 * @example 2026-11-30
                 */
                to?: components["parameters"]["to"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The steps, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listHosts: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /**
                 * @description Only what has this time or a later one (RFC 3339).
                 * @example 2026-12-01T09:00:00Z
                 */
                since?: components["parameters"]["since"];
                /**
                 * @description Only what has an earlier time than this (RFC 3339).
                 * @example 2026-12-02T09:00:00Z
                 */
                until?: components["parameters"]["until"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The hosts, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostHealthList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    eraseUser: {
        parameters: {
            query?: {
                /** @description With true nothing of it is left: records, pending effects and events are removed as well. */
                erase?: components["parameters"]["erase"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The user, as sessions and messages name it.
                 * @example ada
                 */
                user: components["parameters"]["user"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing of these sessions is left. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedUser"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    exportUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /**
                 * @description The user, as sessions and messages name it.
                 * @example ada
                 */
                user: components["parameters"]["user"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All that is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the webhooks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The next of an earlier page, unchanged. What it is made of is not promised. */
                after?: components["parameters"]["after"];
                /** @description Most items of a page. A page ends at 1 MiB as well. */
                limit?: components["parameters"]["limit"];
                /** @description Only deliveries that wait to be sent again, or that have failed. */
                state?: components["parameters"]["deliveryState"];
            };
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The webhook, by its name in settings.webhooks. */
                webhookName: components["parameters"]["webhookName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    resendWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The app. */
                appId: components["parameters"]["appId"];
                /** @description The webhook, by its name in settings.webhooks. */
                webhookName: components["parameters"]["webhookName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Resend"];
            };
        };
        responses: {
            /** @description They are being sent. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    whoAmI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Caller"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    toolCall: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Number of the attempt, from 1.
                 * @example 1
                 */
                "Earshot-Attempt": string;
                /**
                 * @description The trigger, the same on every attempt. If you have seen it, there is nothing to do.
                 * @example t1
                 */
                "Idempotency-Key": string;
                /**
                 * @description W3C Trace Context of what led here, if there is one.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: string;
                /**
                 * @description The trigger, the same on every attempt (Standard Webhooks).
                 * @example t1
                 */
                "webhook-id": string;
                /**
                 * @description Where the app has a signingSecret: v1, and the HMAC-SHA256 of webhook-id.webhook-timestamp.body in base64, one for each secret, with spaces between them.
                 * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
                 */
                "webhook-signature"?: string;
                /**
                 * @description When the attempt was made, in seconds since 1970.
                 * @example 1795336200
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "appId": "clinic",
                 *       "id": "t1",
                 *       "messageId": "m1",
                 *       "name": "request-for-appointment",
                 *       "repositoryId": "booking",
                 *       "schema": [
                 *         {
                 *           "description": "wished day",
                 *           "parameter": "date",
                 *           "required": true,
                 *           "type": "string"
                 *         }
                 *       ],
                 *       "sessionId": "s1",
                 *       "source": "message",
                 *       "text": "I want an appointment on the first of December",
                 *       "ts": "2026-11-22T08:30:00.2Z",
                 *       "values": {
                 *         "date": "2026-12-01"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The app. */
                    appId: components["schemas"]["Id"];
                    /** @description The trigger; the same on every attempt. */
                    id: string;
                    /** @description The message that led here; missing if there was none. */
                    messageId?: string;
                    /** @description The tool. */
                    name: components["schemas"]["ToolName"];
                    /** @description Fields that were left out since the event would have been longer than NATS takes (1 MiB): they can be read over REST. */
                    omitted?: string[];
                    /** @description The repository that has the tool. */
                    repositoryId: components["schemas"]["Id"];
                    /** @description The tool's parameters as they were given: a list, or a JSON Schema object. */
                    schema: unknown;
                    /** @description The session; missing if there was none. */
                    sessionId?: components["schemas"]["Id"];
                    /**
                     * @description What fired it: a message, or a direct trigger of a ui, task or agent.
                     * @enum {string}
                     */
                    source: "message" | "ui" | "task" | "agent";
                    /** @description What that message said. */
                    text?: string;
                    /**
                     * Format: date-time
                     * @description When the tool fired.
                     */
                    ts: string;
                    /** @description Values of the tool's parameters, checked against all their rules. */
                    values: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Delivered. The body, JSON or text, up to 64 KiB, is the result. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed, reason request; so is an answer that redirects. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Retried with growing pauses or after Retry-After, for the time of retryFor. */
            "5XX": {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token is renewed once and the call made again; after that it has failed, reason auth. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Retried with growing pauses, for the time of retryFor. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Made again after Retry-After, for as long as retryFor says. */
            429: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
